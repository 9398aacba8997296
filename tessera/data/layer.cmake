add_subdirectory(${CMAKE_SOURCE_DIR}/plugins/sentencepiece ${CMAKE_BINARY_DIR}/plugins/sentencepiece)
add_dependencies(tessera_data tessera_sentencepiece)
target_link_libraries(tessera_data PRIVATE ${CMAKE_DL_LIBS})
# Hugging Face tokenizers: patterns by PCRE2, Unicode's normal forms by ICU.
find_package(ICU REQUIRED COMPONENTS uc)
find_path(PCRE2_INCLUDE_DIR pcre2.h REQUIRED)
find_library(PCRE2_LIBRARY pcre2-8 REQUIRED)
target_link_libraries(tessera_data PRIVATE ICU::uc ${PCRE2_LIBRARY})
