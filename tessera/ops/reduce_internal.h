#pragma once

#include "tessera/ir/op.h"

namespace tessera::reduce_internal {

/// The gradient of prod(): for each element the product of all others, without dividing, so that
/// zeros are right.
void vjp_prod(Vjp& v);

}  // namespace tessera::reduce_internal
