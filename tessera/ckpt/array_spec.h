#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/status.h"
#include "tessera/ckpt/grid.h"
#include "tessera/ir/shape.h"

namespace tessera {

/// How one array of a checkpoint is laid out on disk: a Zarr v3 array (docs/format_checkpoint.md).
struct ArraySpec {
  std::string name;  // dotted: "params.layers.mlp.up"
  Shape shape;       // the global one
  /// One file each: the shape of a shard. Every dimension at least 1; the last chunk of a dimension
  /// may stick out.
  Dims chunk_shape;
  /// Parts of a chunk with a checksum each, so that a part of a shard can be read and verified;
  /// must divide chunk_shape. Empty: the chunk is one piece.
  Dims inner_chunk_shape;
  /// What the dimensions are called ("embed", "mlp"), one each; or empty.
  std::vector<std::string> dim_names;
  /// Each piece is compressed by zstd at this level, 1 to 19; 0: stored as it is.
  int zstd_level = 0;

  /// The names of parameters and sizes that do not fit, in one message.
  Status validate() const;

  Dims grid() const { return grid_of(shape.dims, chunk_shape); }
  int64_t chunk_count() const;
  /// The part of the array that chunk `index` holds, without what sticks out.
  Box chunk_box(std::span<const int64_t> index) const;
  /// The pieces with a checksum of their own: inner_chunk_shape, or else chunk_shape.
  const Dims& piece_shape() const {
    return inner_chunk_shape.empty() ? chunk_shape : inner_chunk_shape;
  }
  int64_t piece_bytes() const;
  int64_t pieces_per_chunk() const;
  /// The size of every chunk file of this array, checksums and index included, as it is without
  /// compression: compressed ones are mostly smaller, each with a size of its own.
  int64_t chunk_file_bytes() const;
  /// Everything that the array takes on disk, without its metadata and compression.
  int64_t file_bytes() const { return chunk_count() * chunk_file_bytes(); }

  bool operator==(const ArraySpec&) const = default;
};

/// The size above which shards are cut into pieces, unless a recipe says otherwise.
inline constexpr int64_t kDefaultChunkBytes = 256 << 10;

/// A spec whose chunks are shards of `shard_dims`, cut into pieces of about `piece_bytes` when
/// larger. Pieces come from halving again and again the dimension that the whole array is cut into
/// the fewest parts along, so that a mesh with other powers of two, along whichever dimensions,
/// finds its borders between pieces.
ArraySpec make_array_spec(std::string name, Shape shape, Dims shard_dims,
                          int64_t piece_bytes = kDefaultChunkBytes);

/// "a.b" → "state/a/b": the array's folder, from the checkpoint's folder.
std::string array_folder(std::string_view name);
/// "a.b.c" → {"a", "a.b"}: the groups that the array is in.
std::vector<std::string> groups_around(std::string_view name);
/// "c.0.1", or "c" for a scalar: the file of a chunk within the array's folder.
std::string chunk_file_name(std::span<const int64_t> index);

/// The text of the array's zarr.json, and of every group's.
std::string zarr_array_json(const ArraySpec& spec);
std::string_view zarr_group_json();

/// The Zarr data type that stores `dtype`: "bfloat16", "int4". Zarr has no 4-bit unsigned type that
/// others read: u4 is stored as "uint8".
std::string_view zarr_data_type(DType dtype);

/// Between an element as the host holds it and as Zarr stores it: int4 has its upper four bits
/// clear on disk, and its sign repeated in them in memory. Nothing to do for all other dtypes.
bool needs_conversion(DType dtype);
void host_to_stored(DType dtype, std::span<std::byte> bytes);
void stored_to_host(DType dtype, std::span<std::byte> bytes);

}  // namespace tessera
