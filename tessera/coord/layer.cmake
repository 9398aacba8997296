find_package(Protobuf REQUIRED)
find_package(gRPC CONFIG REQUIRED)
find_package(OpenSSL REQUIRED)
find_program(TESSERA_GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)

# Generated code has warnings of its own, so it is a library apart.
set(coord_generated ${CMAKE_BINARY_DIR}/generated/tessera/coord)
file(MAKE_DIRECTORY ${coord_generated})
add_library(tessera_coord_wire STATIC)
foreach(proto coord peer_files)
  add_custom_command(
    OUTPUT ${coord_generated}/${proto}.pb.cc ${coord_generated}/${proto}.pb.h
           ${coord_generated}/${proto}.grpc.pb.cc ${coord_generated}/${proto}.grpc.pb.h
    COMMAND protobuf::protoc --proto_path=${CMAKE_SOURCE_DIR} --cpp_out=${CMAKE_BINARY_DIR}/generated
            --grpc_out=${CMAKE_BINARY_DIR}/generated --plugin=protoc-gen-grpc=${TESSERA_GRPC_CPP_PLUGIN}
            tessera/coord/${proto}.proto
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
    DEPENDS ${CMAKE_CURRENT_LIST_DIR}/${proto}.proto
    VERBATIM)
  target_sources(tessera_coord_wire PRIVATE ${coord_generated}/${proto}.pb.cc ${coord_generated}/${proto}.grpc.pb.cc)
endforeach()
target_include_directories(tessera_coord_wire SYSTEM PUBLIC ${CMAKE_BINARY_DIR}/generated)
target_link_libraries(tessera_coord_wire PUBLIC gRPC::grpc++ protobuf::libprotobuf)
target_compile_options(tessera_coord_wire PRIVATE -mno-direct-extern-access -w)
target_link_libraries(tessera_coord PUBLIC tessera_coord_wire PRIVATE OpenSSL::SSL OpenSSL::Crypto)
