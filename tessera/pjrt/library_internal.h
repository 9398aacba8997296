#pragma once

#include <string>

namespace tessera::pjrt {

/// dlopen() with these flags. What the dynamic linker alone read of the libraries that this brought
/// in, symbol tables of a hundred megabytes for XLA, is given back to the system: pages of the
/// files, which come back when they are touched. Null as dlopen's.
void* open_library(const std::string& path, int flags);

}  // namespace tessera::pjrt
