#pragma once

#include "tessera/base/status.h"

namespace tessera {

/// The same error, marked as one of wrong usage: of a command line or a recipe, found before
/// anything was done.
Status usage_error(const Status& status);
bool is_usage_error(const Status& status);

}  // namespace tessera
