#pragma once

#include <string>

#include "tessera/train/session.h"

namespace tessera {

/// What each policy of training.remat costs this recipe on these devices, as a table: a device's
/// temporary bytes as the compiler plans them, and the matrix products' FLOP of the step, with how
/// much more that is than with `none`. Compiles the step once a policy, and runs nothing.
Result<std::string> explain_memory(Session& session);

}  // namespace tessera
