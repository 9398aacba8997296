find_package(yaml-cpp REQUIRED)
target_link_libraries(tessera_base PRIVATE yaml-cpp)
