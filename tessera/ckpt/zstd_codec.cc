#include "tessera/ckpt/zstd_codec.h"

#include <zstd.h>

namespace tessera {

size_t zstd_bound(size_t bytes) { return ZSTD_compressBound(bytes); }

Result<size_t> zstd_compress(std::span<const std::byte> from, int level, std::span<std::byte> to) {
  const size_t size = ZSTD_compress(to.data(), to.size(), from.data(), from.size(), level);
  if (ZSTD_isError(size)) return internal_error("zstd: ", ZSTD_getErrorName(size));
  return size;
}

Status zstd_decompress(std::span<const std::byte> from, std::span<std::byte> to) {
  const size_t size = ZSTD_decompress(to.data(), to.size(), from.data(), from.size());
  if (ZSTD_isError(size)) return data_loss("does not decompress: ", ZSTD_getErrorName(size));
  if (size == to.size()) return absl::OkStatus();
  return data_loss("decompresses to ", size, " bytes instead of ", to.size());
}

}  // namespace tessera
