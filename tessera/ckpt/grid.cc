#include "tessera/ckpt/grid.h"

namespace tessera {

bool is_contiguous(std::span<const int64_t> extent, std::span<const int64_t> dims) {
  size_t first = 0;  // leading dimensions of one element do not matter
  while (first < extent.size() && extent[first] == 1) ++first;
  for (size_t i = first + 1; i < extent.size(); ++i) {
    if (extent[i] != dims[i]) return false;
  }
  return true;
}

Box relative_to(const Box& box, std::span<const int64_t> origin) {
  Box result = box;
  for (size_t i = 0; i < result.start.size(); ++i) result.start[i] -= origin[i];
  return result;
}

Dims grid_of(std::span<const int64_t> dims, std::span<const int64_t> cell) {
  Dims grid(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) grid[i] = (dims[i] + cell[i] - 1) / cell[i];
  return grid;
}

int64_t linear_index(std::span<const int64_t> index, std::span<const int64_t> dims) {
  int64_t linear = 0;
  for (size_t i = 0; i < dims.size(); ++i) linear = linear * dims[i] + index[i];
  return linear;
}

Dims grid_index(int64_t linear, std::span<const int64_t> dims) {
  Dims index(dims.size());
  for (size_t i = dims.size(); i-- > 0;) {
    index[i] = linear % dims[i];
    linear /= dims[i];
  }
  return index;
}

Status for_each_cell(const Box& box, std::span<const int64_t> cell,
                     const std::function<Status(const Dims& index)>& visit) {
  if (box.elements() == 0) return absl::OkStatus();
  Dims first(cell.size()), count(cell.size());
  int64_t cells = 1;
  for (size_t i = 0; i < cell.size(); ++i) {
    first[i] = box.start[i] / cell[i];
    count[i] = (box.start[i] + box.dims[i] - 1) / cell[i] - first[i] + 1;
    cells *= count[i];
  }
  for (int64_t n = 0; n < cells; ++n) {
    Dims index = grid_index(n, count);
    for (size_t i = 0; i < index.size(); ++i) index[i] += first[i];
    RETURN_IF_ERROR(visit(index));
  }
  return absl::OkStatus();
}

}  // namespace tessera
