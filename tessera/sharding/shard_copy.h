#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tessera/ir/host_array.h"
#include "tessera/sharding/named_sharding.h"

/// Moving parts of tensors about in host memory.
namespace tessera {

/// The elements that lie in both boxes of one tensor; nullopt when there are none.
std::optional<ShardIndex> intersect(const ShardIndex& a, const ShardIndex& b);

/// A dense, row-major part of a tensor in memory that is owned elsewhere.
struct ConstHostBox {
  ShardIndex index;
  const std::byte* data;
};
struct HostBox {
  ShardIndex index;
  std::byte* data;
};
/// Copies the elements that lie in both boxes.
void copy_overlap(const ConstHostBox& from, const HostBox& to, int64_t element_bytes);

/// The part `index` of `whole`.
HostArray slice(const HostArray& whole, const ShardIndex& index);
/// Writes `part`, which is the part `index`, into `whole`.
void paste(const HostArray& part, const ShardIndex& index, HostArray& whole);

}  // namespace tessera
