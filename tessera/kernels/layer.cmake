find_library(tessera_dnnl NAMES dnnl REQUIRED)
target_link_libraries(tessera_kernels PUBLIC tessera_pjrt_headers PRIVATE ${tessera_dnnl} gomp)
# Sums in any order, so that they can be taken in vectors; NaN and infinity keep their meaning.
set_source_files_properties(${folder}/rows.cc PROPERTIES COMPILE_OPTIONS
  "-O3;-fno-math-errno;-fno-trapping-math;-fno-signed-zeros;-fassociative-math;-ffp-contract=fast")
# GCC 12 warns of the undefined registers that its own header begins some instructions with.
set_source_files_properties(${folder}/bf16_blocks.cc ${folder}/f32_blocks.cc PROPERTIES COMPILE_OPTIONS
  "-Wno-maybe-uninitialized;-Wno-uninitialized")
