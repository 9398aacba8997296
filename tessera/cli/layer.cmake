target_compile_definitions(tessera_cli PRIVATE TESSERA_VERSION="${PROJECT_VERSION}")
tessera_program(tessera SOURCES ${CMAKE_CURRENT_LIST_DIR}/tessera_main.cc DEPS tessera_cli)
