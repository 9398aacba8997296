if(TESSERA_TESTS)  # plugins of other versions, for the version check; the extension keeps them out of the layer's own sources
  foreach(major 0 1)
    add_library(test_plugin_${major} MODULE ${folder}/testdata/old_plugin.cpp)
    target_link_libraries(test_plugin_${major} PRIVATE tessera_flags tessera_pjrt_headers)
    target_compile_definitions(test_plugin_${major} PRIVATE TEST_MAJOR=${major})
    set_target_properties(test_plugin_${major} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  endforeach()
endif()
