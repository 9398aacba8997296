#include "tessera/ckpt/box.h"

#include <algorithm>
#include <cstring>

namespace tessera {

int64_t Box::elements() const {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

std::string to_string(const Box& box) {
  std::string text = "[";
  for (size_t i = 0; i < box.dims.size(); ++i) {
    str_append(&text, i > 0 ? "," : "", box.start[i], ":", box.start[i] + box.dims[i]);
  }
  return text + "]";
}

std::optional<Box> intersect(const Box& a, const Box& b) {
  Box both;
  for (size_t i = 0; i < a.dims.size(); ++i) {
    const int64_t start = std::max(a.start[i], b.start[i]);
    const int64_t end = std::min(a.start[i] + a.dims[i], b.start[i] + b.dims[i]);
    if (end <= start) return std::nullopt;
    both.start.push_back(start);
    both.dims.push_back(end - start);
  }
  return both;
}

Box relative_to(const Box& box, std::span<const int64_t> origin) {
  Box result = box;
  for (size_t i = 0; i < result.start.size(); ++i) result.start[i] -= origin[i];
  return result;
}

bool is_contiguous(std::span<const int64_t> extent, std::span<const int64_t> dims) {
  size_t first = 0;  // leading dimensions of one element do not matter
  while (first < extent.size() && extent[first] == 1) ++first;
  for (size_t i = first + 1; i < extent.size(); ++i) {
    if (extent[i] != dims[i]) return false;
  }
  return true;
}

void copy_box(std::span<const int64_t> extent, int64_t element_bytes, const std::byte* from,
              const Placement& from_place, std::byte* to, const Placement& to_place) {
  if (std::find(extent.begin(), extent.end(), 0) != extent.end()) return;
  // The trailing dimensions that are whole in both arrays make one run, together with the one
  // before them.
  size_t outer = extent.size();
  int64_t run = element_bytes;
  while (outer > 0) {
    --outer;
    run *= extent[outer];
    if (extent[outer] != from_place.dims[outer] || extent[outer] != to_place.dims[outer]) break;
  }
  Dims from_strides(extent.size()), to_strides(extent.size());
  int64_t from_stride = element_bytes, to_stride = element_bytes;
  for (size_t i = extent.size(); i-- > 0;) {
    from_strides[i] = from_stride;
    to_strides[i] = to_stride;
    from_stride *= from_place.dims[i];
    to_stride *= to_place.dims[i];
    from += from_place.corner[i] * from_strides[i];
    to += to_place.corner[i] * to_strides[i];
  }
  Dims index(outer, 0);
  while (true) {
    std::memcpy(to, from, static_cast<size_t>(run));
    size_t i = outer;
    for (; i > 0; --i) {  // the next index, as an odometer counts
      from += from_strides[i - 1];
      to += to_strides[i - 1];
      if (++index[i - 1] < extent[i - 1]) break;
      from -= extent[i - 1] * from_strides[i - 1];
      to -= extent[i - 1] * to_strides[i - 1];
      index[i - 1] = 0;
    }
    if (i == 0) return;
  }
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
