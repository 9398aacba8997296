find_library(tessera_zstd NAMES zstd REQUIRED)
target_link_libraries(tessera_ckpt PRIVATE ${tessera_zstd})
