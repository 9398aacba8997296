#include "tessera/ops/dims.h"

#include <algorithm>

namespace tessera {

int normalize_dim(std::string_view op, Value x, int dim, int rank) {
  if (!x.defined()) fail_at(op, x, "");
  if (rank == 0) fail_at(op, x, "dim ", dim, " was given, but a scalar has no dimensions");
  if (dim < -rank || dim >= rank) {
    fail_at(op, x, "dim ", dim, " is out of range: it must be in [", -rank, ", ", rank - 1, "]");
  }
  return dim < 0 ? dim + rank : dim;
}

Dims normalize_dims(std::string_view op, Value x, const DimList& dims) {
  Dims result;
  if (dims.all()) {
    if (!x.defined()) fail_at(op, x, "");
    for (int i = 0; i < x.rank(); ++i) result.push_back(i);
    return result;
  }
  for (int dim : dims.dims()) {
    const int64_t index = normalize_dim(op, x, dim);
    if (std::ranges::find(result, index) != result.end()) {
      fail_at(op, x, "dim ", dim, " is named twice");
    }
    result.push_back(index);
  }
  return result;
}

}  // namespace tessera
