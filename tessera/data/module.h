#pragma once

#include <string_view>

#include "tessera/base/status.h"

namespace tessera {

/// The address of `symbol` in the module `file`, which is loaded from ../lib beside the program (or
/// ../lib/tessera, or the program's own folder), its symbols apart from the program's. NOT_FOUND
/// with what the loader said, and `remedy` before it.
Result<void*> load_module(std::string_view file, const char* symbol, std::string_view remedy);

}  // namespace tessera
