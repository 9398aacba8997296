find_library(tessera_dnnl NAMES dnnl REQUIRED)
target_link_libraries(tessera_kernels PUBLIC tessera_pjrt_headers PRIVATE ${tessera_dnnl} gomp)
