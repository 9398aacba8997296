#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "tessera/ir/shape.h"

namespace tessera {

/// A rectangular part of an array: where it starts and how far it goes in each dimension.
struct Box {
  Dims start;
  Dims dims;

  int64_t elements() const;
  bool operator==(const Box&) const = default;
};

/// "[0:4,8:16]".
std::string to_string(const Box& box);

/// What both have in common; nothing when that is empty. Same rank.
std::optional<Box> intersect(const Box& a, const Box& b);

/// `box` as seen from `origin`.
Box relative_to(const Box& box, std::span<const int64_t> origin);

/// One dense row-major array of `dims` for the functions below, and the corner of the part meant.
struct Placement {
  std::span<const int64_t> dims;
  std::span<const int64_t> corner;
};

/// Copies a box of `extent` elements from one dense array to another. Sizes are not checked.
void copy_box(std::span<const int64_t> extent, int64_t element_bytes, const std::byte* from,
              const Placement& from_place, std::byte* to, const Placement& to_place);

/// Whether a box of `extent` at any corner of an array of `dims` is one run of memory.
bool is_contiguous(std::span<const int64_t> extent, std::span<const int64_t> dims);

/// Number of cells, rounded up, in each dimension when `dims` is cut into cells.
Dims grid_of(std::span<const int64_t> dims, std::span<const int64_t> cell);

/// Position in row-major order of `index` within `dims`, and back.
int64_t linear_index(std::span<const int64_t> index, std::span<const int64_t> dims);
Dims grid_index(int64_t linear, std::span<const int64_t> dims);

/// Calls `visit` with the index of every cell of the grid of `cell` that `box` touches, in
/// row-major order; stops at the first error and returns it.
Status for_each_cell(const Box& box, std::span<const int64_t> cell,
                     const std::function<Status(const Dims& index)>& visit);

}  // namespace tessera
