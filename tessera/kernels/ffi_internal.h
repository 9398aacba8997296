#pragma once

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

}  // namespace tessera::kernels
