# The XLA SDK is what scripts/setup unpacks from a wheel into the cache: include/ and two libraries.
if(DEFINED ENV{TESSERA_CACHE})
  set(tessera_cache $ENV{TESSERA_CACHE})
else()
  set(tessera_cache $ENV{HOME}/.cache/tessera)
endif()
set(TESSERA_XLA_SDK ${tessera_cache}/xla-sdk-2.21.0 CACHE PATH "Folder with include/ and the XLA libraries")
if(NOT EXISTS ${TESSERA_XLA_SDK}/include/xla/pjrt/c/pjrt_c_api.h)
  message(FATAL_ERROR "No XLA SDK in ${TESSERA_XLA_SDK}: run scripts/setup, or set TESSERA_XLA_SDK")
endif()

# Only the plain C headers may be seen outside plugins/cpu: the SDK's own absl/ must not shadow the system's.
set(pjrt_headers ${CMAKE_BINARY_DIR}/pjrt_headers)
file(GLOB pjrt_c_headers ${TESSERA_XLA_SDK}/include/xla/pjrt/c/pjrt_c_api*.h)
list(FILTER pjrt_c_headers EXCLUDE REGEX "(_test|_helpers|_wrapper_impl|_test_base)\\.h$")
file(COPY ${pjrt_c_headers} DESTINATION ${pjrt_headers}/xla/pjrt/c)
file(COPY ${TESSERA_XLA_SDK}/include/xla/ffi/api/ DESTINATION ${pjrt_headers}/xla/ffi/api)
add_library(tessera_pjrt_headers INTERFACE)
target_include_directories(tessera_pjrt_headers SYSTEM INTERFACE ${pjrt_headers})
