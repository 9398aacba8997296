#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "tessera/base/status.h"
#include "tessera/ir/box.h"

/// Arrays cut into cells of one shape, as a checkpoint's are into chunks and pieces.
namespace tessera {

/// Whether a box of `extent` at any corner of an array of `dims` is one run of memory.
bool is_contiguous(std::span<const int64_t> extent, std::span<const int64_t> dims);

/// `box` as seen from `origin`.
Box relative_to(const Box& box, std::span<const int64_t> origin);

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
