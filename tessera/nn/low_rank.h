#pragma once

#include "tessera/nn/param.h"

namespace tessera {

/// What the two thin matrices beside a parameter are called: its path with these behind.
inline constexpr const char* kLowRankA = "_lora_a";
inline constexpr const char* kLowRankB = "_lora_b";

/// value + a · b, of each matrix of a stack (matrix_view(spec)). value: spec.dims; a: the batch
/// dimensions, the rows', r; b: the batch dimensions, r, the columns'.
Value with_low_rank(Value value, Value a, Value b, const ParamSpec& spec);

}  // namespace tessera
