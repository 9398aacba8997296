#pragma once

#include "tessera/ops/indexing.h"

namespace tessera::indexing_internal {

/// Integers of less than 32 bits as s32: they might not hold a dim's size.
Value widen(Value indices);

/// `gathered` with the fill value where the index vector is out of x's range.
Value fill_out_of_range(Value gathered, Value x, Value indices, const GatherDims& dims);

}  // namespace tessera::indexing_internal
