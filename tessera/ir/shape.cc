#include "tessera/ir/shape.h"

#include <algorithm>

#include "absl/strings/str_join.h"

namespace tessera {

int64_t Shape::elements() const {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  return count;
}

int64_t Shape::host_bytes() const { return elements() * dtype_host_bytes(dtype); }

std::string to_string(const Shape& shape) {
  return str_cat(dtype_name(shape.dtype), dims_to_string(shape.dims));
}

std::string dims_to_string(std::span<const int64_t> dims) {
  return str_cat("[", absl::StrJoin(dims, ","), "]");
}

Result<Dims> broadcast_dims(std::span<const int64_t> a, std::span<const int64_t> b) {
  Dims result(std::max(a.size(), b.size()));
  for (size_t back = 1; back <= result.size(); ++back) {
    const int64_t x = back <= a.size() ? a[a.size() - back] : 1;
    const int64_t y = back <= b.size() ? b[b.size() - back] : 1;
    if (x != y && x != 1 && y != 1) {
      return invalid_argument("shapes ", dims_to_string(a), " and ", dims_to_string(b),
                              " do not broadcast: sizes ", x, " and ", y, " meet");
    }
    result[result.size() - back] = x == 1 ? y : x;
  }
  return result;
}

}  // namespace tessera
