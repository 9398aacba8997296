find_package(CURL REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(pugixml REQUIRED)
target_link_libraries(tessera_storage PRIVATE CURL::libcurl OpenSSL::Crypto pugixml::pugixml)
