#include "tessera/ir/box.h"

#include <algorithm>
#include <cstring>

namespace tessera {
namespace {

Box whole_box(const Shape& shape) { return {Dims(shape.dims.size(), 0), shape.dims}; }

/// Walks the overlap of two boxes; the innermost dimensions that are whole in both go in one
/// memcpy.
class OverlapCopy {
 public:
  OverlapCopy(const Box& from, const Box& to, Box overlap, int64_t element_bytes)
      : overlap_(std::move(overlap)), run_dims_(overlap_.dims.size()), run_bytes_(element_bytes) {
    const size_t rank = overlap_.dims.size();
    from_.strides.resize(rank);
    to_.strides.resize(rank);
    int64_t from_stride = element_bytes, to_stride = element_bytes;
    bool whole = true;
    for (size_t dim = rank; dim-- > 0;) {
      from_.strides[dim] = from_stride;
      to_.strides[dim] = to_stride;
      from_.start += (overlap_.start[dim] - from.start[dim]) * from_stride;
      to_.start += (overlap_.start[dim] - to.start[dim]) * to_stride;
      from_stride *= from.dims[dim];
      to_stride *= to.dims[dim];
      if (whole) {
        run_bytes_ *= overlap_.dims[dim];
        run_dims_ = dim;
        whole = overlap_.dims[dim] == from.dims[dim] && overlap_.dims[dim] == to.dims[dim];
      }
    }
  }

  void run(const std::byte* from, std::byte* to) const {
    copy(0, from + from_.start, to + to_.start);
  }

 private:
  struct Side {
    int64_t start = 0;
    std::vector<int64_t> strides;
  };

  void copy(size_t dim, const std::byte* from, std::byte* to) const {
    if (dim == run_dims_) {
      std::memcpy(to, from, static_cast<size_t>(run_bytes_));
      return;
    }
    for (int64_t i = 0; i < overlap_.dims[dim]; ++i) {
      copy(dim + 1, from + i * from_.strides[dim], to + i * to_.strides[dim]);
    }
  }

  Box overlap_;
  Side from_, to_;
  size_t run_dims_;  // dimensions from here on are copied as one run
  int64_t run_bytes_;
};

}  // namespace

int64_t Box::elements() const {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

std::string to_string(const Box& box) {
  std::string text = "[";
  for (size_t i = 0; i < box.dims.size(); ++i) {
    str_append(&text, i > 0 ? ", " : "", box.start[i], ":", box.start[i] + box.dims[i]);
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

void copy_overlap(const ConstHostBox& from, const HostBox& to, int64_t element_bytes) {
  auto overlap = intersect(from.box, to.box);
  if (!overlap) return;
  OverlapCopy(from.box, to.box, *std::move(overlap), element_bytes).run(from.bytes, to.bytes);
}

HostArray slice(const HostArray& whole, const Box& box) {
  HostArray part(Shape{whole.shape().dtype, box.dims});
  copy_overlap({whole_box(whole.shape()), whole.bytes().data()}, {box, part.bytes().data()},
               dtype_host_bytes(whole.shape().dtype));
  return part;
}

void paste(const HostArray& part, const Box& box, HostArray& whole) {
  copy_overlap({box, part.bytes().data()}, {whole_box(whole.shape()), whole.bytes().data()},
               dtype_host_bytes(whole.shape().dtype));
}

}  // namespace tessera
