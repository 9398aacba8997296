#pragma once

#include "tessera/ir/graph.h"

namespace tessera::random_internal {

/// erf_inv without its gradient: for samples, through which none flows.
Value erf_inv_values(Value x);

}  // namespace tessera::random_internal
