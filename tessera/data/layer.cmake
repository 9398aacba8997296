add_subdirectory(${CMAKE_SOURCE_DIR}/plugins/sentencepiece ${CMAKE_BINARY_DIR}/plugins/sentencepiece)
add_dependencies(tessera_data tessera_sentencepiece)
target_link_libraries(tessera_data PRIVATE ${CMAKE_DL_LIBS})
