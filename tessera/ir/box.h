#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "tessera/ir/host_array.h"
#include "tessera/ir/shape.h"

/// Parts of tensors, and moving them about in host memory.
namespace tessera {

/// A rectangular part of a tensor: where it starts and how far it goes in each dimension.
struct Box {
  Dims start;
  Dims dims;

  int64_t elements() const;
  auto operator<=>(const Box&) const = default;
};

/// "[0:4, 8:16]".
std::string to_string(const Box& box);

/// The elements that lie in both boxes of one tensor; nullopt when there are none. A scalar has its
/// one element in common with itself.
std::optional<Box> intersect(const Box& a, const Box& b);

/// A part of a tensor in memory that is owned elsewhere, dense and row-major.
struct ConstHostBox {
  Box box;
  const std::byte* bytes;
};
struct HostBox {
  Box box;
  std::byte* bytes;
};
/// Copies the elements that lie in both boxes of one tensor.
void copy_overlap(const ConstHostBox& from, const HostBox& to, int64_t element_bytes);

/// The part `box` of `whole`.
HostArray slice(const HostArray& whole, const Box& box);
/// Writes `part`, which is the part `box`, into `whole`.
void paste(const HostArray& part, const Box& box, HostArray& whole);

}  // namespace tessera
