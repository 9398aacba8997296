#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "tessera/ir/dtype.h"

namespace tessera {

/// The position of the first element that is infinite or not a number; nothing when all are finite,
/// or the dtype has no such values. `bytes` are elements as the host has them, aligned as such.
std::optional<int64_t> first_not_finite(DType dtype, std::span<const std::byte> bytes);

}  // namespace tessera
