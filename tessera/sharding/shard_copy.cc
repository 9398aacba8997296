#include "tessera/sharding/shard_copy.h"

#include <algorithm>
#include <cstring>

namespace tessera {
namespace {

ShardIndex whole_index(const Shape& shape) { return {Dims(shape.dims.size(), 0), shape.dims}; }

/// Walks the overlap of two boxes; the innermost dimensions that are whole in both go in one
/// memcpy.
class OverlapCopy {
 public:
  OverlapCopy(const ConstHostBox& from, const HostBox& to, ShardIndex overlap,
              int64_t element_bytes)
      : overlap_(std::move(overlap)), run_dims_(overlap_.sizes.size()), run_bytes_(element_bytes) {
    const size_t rank = overlap_.sizes.size();
    from_.strides.resize(rank);
    to_.strides.resize(rank);
    int64_t from_stride = element_bytes, to_stride = element_bytes;
    bool whole = true;
    for (size_t dim = rank; dim-- > 0;) {
      from_.strides[dim] = from_stride;
      to_.strides[dim] = to_stride;
      from_.start += (overlap_.offsets[dim] - from.index.offsets[dim]) * from_stride;
      to_.start += (overlap_.offsets[dim] - to.index.offsets[dim]) * to_stride;
      from_stride *= from.index.sizes[dim];
      to_stride *= to.index.sizes[dim];
      if (whole) {
        run_bytes_ *= overlap_.sizes[dim];
        run_dims_ = dim;
        whole = overlap_.sizes[dim] == from.index.sizes[dim] &&
                overlap_.sizes[dim] == to.index.sizes[dim];
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
      std::memcpy(to, from, run_bytes_);
      return;
    }
    for (int64_t i = 0; i < overlap_.sizes[dim]; ++i) {
      copy(dim + 1, from + i * from_.strides[dim], to + i * to_.strides[dim]);
    }
  }

  ShardIndex overlap_;
  Side from_, to_;
  size_t run_dims_;  // dimensions from here on are copied as one run
  int64_t run_bytes_;
};

}  // namespace

std::optional<ShardIndex> intersect(const ShardIndex& a, const ShardIndex& b) {
  ShardIndex result = a;
  for (size_t dim = 0; dim < a.offsets.size(); ++dim) {
    const int64_t start = std::max(a.offsets[dim], b.offsets[dim]);
    const int64_t end = std::min(a.offsets[dim] + a.sizes[dim], b.offsets[dim] + b.sizes[dim]);
    if (end <= start) return std::nullopt;
    result.offsets[dim] = start;
    result.sizes[dim] = end - start;
  }
  return result;
}

void copy_overlap(const ConstHostBox& from, const HostBox& to, int64_t element_bytes) {
  auto overlap = intersect(from.index, to.index);
  if (!overlap) return;
  OverlapCopy(from, to, *std::move(overlap), element_bytes).run(from.data, to.data);
}

HostArray slice(const HostArray& whole, const ShardIndex& index) {
  HostArray part(Shape{whole.shape().dtype, index.sizes});
  copy_overlap({whole_index(whole.shape()), whole.bytes().data()}, {index, part.bytes().data()},
               dtype_host_bytes(whole.shape().dtype));
  return part;
}

void paste(const HostArray& part, const ShardIndex& index, HostArray& whole) {
  copy_overlap({index, part.bytes().data()}, {whole_index(whole.shape()), whole.bytes().data()},
               dtype_host_bytes(whole.shape().dtype));
}

}  // namespace tessera
