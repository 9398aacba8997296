#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tessera/ir/dtype.h"

namespace tessera {

/// Sizes of a tensor's dimensions, outermost first. Empty is a scalar.
using Dims = std::vector<int64_t>;

/// Dtype and dimensions of a tensor: all that is known of it before it has a value.
struct Shape {
  DType dtype = DType::kF32;
  Dims dims;

  int rank() const { return static_cast<int>(dims.size()); }
  int64_t dim(int index) const { return dims[index < 0 ? index + rank() : index]; }
  /// Product of the dimensions; 1 for a scalar.
  int64_t elements() const;
  /// elements() x dtype_host_bytes().
  int64_t host_bytes() const;
  /// The same dimensions with another dtype.
  Shape with_dtype(DType other) const { return {other, dims}; }

  bool operator==(const Shape&) const = default;
};

/// "f32[8,256,512]", "s32[]".
std::string to_string(const Shape& shape);
/// "[8,256,512]".
std::string dims_to_string(std::span<const int64_t> dims);

/// The dimensions that NumPy broadcasting gives, or an error that shows both.
Result<Dims> broadcast_dims(std::span<const int64_t> a, std::span<const int64_t> b);

}  // namespace tessera
