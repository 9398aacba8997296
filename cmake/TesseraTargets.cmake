# tessera_layer(NAME DEPS ...): the static library tessera_NAME from tessera/NAME/**.cc, and NAME_test from its *_test.cc.
# Programs' main functions are named *_main.cc and left to tessera_program().
function(tessera_layer name)
  cmake_parse_arguments(arg "" "" "DEPS" ${ARGN})
  set(folder ${CMAKE_SOURCE_DIR}/tessera/${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.cc)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|_main)\\.cc$")
  if(sources)
    add_library(tessera_${name} STATIC ${sources})
    target_link_libraries(tessera_${name} PUBLIC tessera_flags ${arg_DEPS})
  else()
    add_library(tessera_${name} INTERFACE)
    target_link_libraries(tessera_${name} INTERFACE tessera_flags ${arg_DEPS})
  endif()
  if(EXISTS ${folder}/layer.cmake)  # what a layer needs beyond the rule
    include(${folder}/layer.cmake)
  endif()
  if(tests AND TESSERA_TESTS)
    tessera_test(${name}_test SOURCES ${tests} DEPS tessera_${name})
  endif()
endfunction()

# tessera_test(NAME SOURCES ... DEPS ... [LABELS ...]): a GoogleTest program whose tests ctest knows one by one.
function(tessera_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS;LABELS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE tessera_flags ${arg_DEPS} GTest::gmock GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  # On the way to ctest an empty property is dropped and a list is taken apart, and what follows is then misread: so no
  # empty LABELS, and each variable in a property of its own.
  set(properties TIMEOUT 900 ENVIRONMENT TESSERA_SOURCE_DIR=${CMAKE_SOURCE_DIR}
    ENVIRONMENT_MODIFICATION TESSERA_BUILD_DIR=set:${CMAKE_BINARY_DIR})
  if(arg_LABELS)
    list(APPEND properties LABELS ${arg_LABELS})
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES ${properties})
endfunction()

# tessera_program(NAME SOURCES ... DEPS ...): an executable in bin/.
function(tessera_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE tessera_flags ${arg_DEPS})
endfunction()
