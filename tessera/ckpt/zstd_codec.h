#pragma once

#include <cstddef>
#include <span>

#include "tessera/base/status.h"

namespace tessera {

/// The most bytes that `bytes` bytes can become.
size_t zstd_bound(size_t bytes);
/// Compresses `from` into `to`, which has room for zstd_bound(); returns how many bytes it became.
Result<size_t> zstd_compress(std::span<const std::byte> from, int level, std::span<std::byte> to);
/// DATA_LOSS when `from` is not what exactly `to.size()` bytes became.
Status zstd_decompress(std::span<const std::byte> from, std::span<std::byte> to);

}  // namespace tessera
