#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "tessera/ckpt/array_spec.h"
#include "tessera/ckpt/grid.h"
#include "tessera/ckpt/zstd_codec.h"

/// What the writer and the reader of chunk files share.
namespace tessera {

inline constexpr int64_t kChecksumBytes = 4;
inline constexpr int64_t kIndexEntryBytes = 16;
/// Pieces are gathered up to about this size for one write or read: little enough for a core's
/// cache.
inline constexpr int64_t kTransferBytes = 1 << 20;

template <typename T>
T number_at(std::span<const std::byte> bytes, int64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

/// Where piece `n` of a chunk lies in the chunk, whole, as stored.
inline Box piece_box(const ArraySpec& spec, int64_t n) {
  Box box{grid_index(n, grid_of(spec.chunk_shape, spec.piece_shape())), spec.piece_shape()};
  for (size_t i = 0; i < box.dims.size(); ++i) box.start[i] *= box.dims[i];
  return box;
}

/// The most that a piece takes in a file, with its checksum.
inline int64_t piece_bound(const ArraySpec& spec) {
  const int64_t bytes = spec.piece_bytes();
  if (spec.zstd_level == 0) return bytes + kChecksumBytes;
  return static_cast<int64_t>(zstd_bound(static_cast<size_t>(bytes))) + kChecksumBytes;
}

/// A chunk in one piece that is as large as it is stored needs no copy.
inline bool goes_out_as_it_is(const ArraySpec& spec, const Box& chunk) {
  return spec.inner_chunk_shape.empty() && chunk.dims == spec.chunk_shape &&
         !needs_conversion(spec.shape.dtype) && spec.zstd_level == 0;
}

}  // namespace tessera
