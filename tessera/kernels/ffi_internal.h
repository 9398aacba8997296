#pragma once

#include <algorithm>
#include <exception>
#include <span>
#include <stdexcept>

#include "tessera/ir/shape.h"
#include "xla/ffi/api/ffi.h"

/// For handlers: what XLA hands over in this project's terms.
namespace tessera::kernels {

namespace ffi = xla::ffi;

/// bf16, f32 or s32; any other is f64, which no kernel takes.
inline DType dtype_of(ffi::DataType type) {
  switch (type) {
    case ffi::DataType::BF16:
      return DType::kBF16;
    case ffi::DataType::F32:
      return DType::kF32;
    case ffi::DataType::S32:
      return DType::kS32;
    default:
      return DType::kF64;
  }
}

/// Runs `body`; what it throws becomes an error of the program.
template <typename Body>
ffi::Error guarded(const Body& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    return ffi::Error::Internal(error.what());
  }
}

/// Calls `body` with a null pointer to the type that a handler's loops take of `dtype`, bf16 or
/// f32; throws std::invalid_argument at others.
template <typename Body>
void with_type(DType dtype, const Body& body) {
  if (dtype == DType::kBF16) return body(static_cast<uint16_t*>(nullptr));
  if (dtype == DType::kF32) return body(static_cast<float*>(nullptr));
  throw std::invalid_argument("neither bf16 nor f32");
}

/// Throws std::invalid_argument where a call's shapes do not fit each other.
inline void check_shapes(bool good) {
  if (!good) throw std::invalid_argument("shapes or types do not fit each other");
}

/// Rows of n elements, a number of them a task, for run_parallel.
struct RowTasks {
  int64_t rows, each;

  RowTasks(int64_t rows, int64_t row_size)
      : rows(rows), each(std::max<int64_t>(1, kTaskElements / std::max<int64_t>(1, row_size))) {}
  int64_t count() const { return (rows + each - 1) / each; }
  int64_t begin(int64_t task) const { return task * each; }
  int64_t end(int64_t task) const { return std::min(rows, (task + 1) * each); }

  static constexpr int64_t kTaskElements = 1 << 15;
};

}  // namespace tessera::kernels
