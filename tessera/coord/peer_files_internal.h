#pragma once

#include <cstdint>

namespace tessera::coord {

/// The largest part of a file that one message carries.
inline constexpr int64_t kMostPartBytes = int64_t{4} << 20;

}  // namespace tessera::coord
