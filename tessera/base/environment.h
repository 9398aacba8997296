#pragma once

#include <string>
#include <string_view>

#include "tessera/base/status.h"

namespace tessera {

/// The folder of what is fetched or made once for all checkouts: $TESSERA_CACHE, else
/// ~/.cache/tessera. An error when neither that nor $HOME is set.
Result<std::string> cache_folder();

/// `text` with every ${NAME} replaced by that environment variable; ${TESSERA_CACHE} by
/// cache_folder(). An error names a variable that is not set, or a brace that is not closed. Other
/// dollar signs stand for themselves.
Result<std::string> expand_variables(std::string_view text);

}  // namespace tessera
