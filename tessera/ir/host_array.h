#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "tessera/ir/shape.h"

namespace tessera {

/// A tensor in host memory: dense, row-major, owned. Four-bit integers take one byte an element;
/// bool is 0 or 1 in a byte.
class HostArray {
 public:
  HostArray() = default;
  /// Zeros.
  explicit HostArray(Shape shape) : shape_(std::move(shape)), bytes_(shape_.host_bytes()) {}

  /// Copies `values`, whose count must be the product of `dims` and whose type must be as wide as
  /// `dtype`.
  template <typename T>
  static HostArray from(DType dtype, Dims dims, std::span<const T> values) {
    HostArray array(Shape{dtype, std::move(dims)});
    CHECK(values.size_bytes() == array.bytes_.size());
    std::memcpy(array.bytes_.data(), values.data(), values.size_bytes());
    return array;
  }

  const Shape& shape() const { return shape_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  std::span<std::byte> bytes() { return bytes_; }

  /// The elements seen as T, which must be as wide as the dtype.
  template <typename T>
  std::span<const T> as() const {
    CHECK(static_cast<int>(sizeof(T)) == dtype_host_bytes(shape_.dtype));
    return {reinterpret_cast<const T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }
  template <typename T>
  std::span<T> as() {
    CHECK(static_cast<int>(sizeof(T)) == dtype_host_bytes(shape_.dtype));
    return {reinterpret_cast<T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }

 private:
  Shape shape_;
  std::vector<std::byte> bytes_;
};

/// Every element as double, whatever the dtype: for tests, logs and messages.
std::vector<double> to_doubles(const HostArray& array);
/// Rounds `values` to `dtype`: to nearest even for floats, towards zero for integers. Floats beyond
/// the largest become infinity (NaN where there is none). Integers wrap; beyond 64 bits they
/// saturate, and NaN is 0. What is not 0 is true.
HostArray from_doubles(Shape shape, std::span<const double> values);

}  // namespace tessera
