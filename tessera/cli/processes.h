#pragma once

#include "tessera/base/status.h"

namespace tessera::cli {

/// An error when flags or a launcher's environment say that this is one of several processes: each
/// would train the whole, into the same folder.
Status require_one_process();

}  // namespace tessera::cli
