#pragma once

#include "tessera/base/status.h"
#include "tessera/ir/dtype.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace tessera::pjrt {

PJRT_Buffer_Type to_c(DType dtype);
/// UNIMPLEMENTED for what DType does not have: complex numbers, tokens, the rarer small floats.
Result<DType> from_c(PJRT_Buffer_Type type);

}  // namespace tessera::pjrt
