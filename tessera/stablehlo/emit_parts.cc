#include "tessera/stablehlo/emit_parts.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::stablehlo {

std::string emit_literal(Emitter& e, DType dtype, std::string_view literal) {
  return e.helper(
      str_cat("stablehlo.constant dense<", literal, "> : tensor<", mlir_type(dtype), ">"));
}

std::string emit_splat(Emitter& e, const std::string& scalar, const Shape& shape) {
  if (shape.rank() == 0) return scalar;
  return e.helper(str_cat("stablehlo.broadcast_in_dim ", scalar, ", dims = [] : (tensor<",
                          mlir_type(shape.dtype), ">) -> ", mlir_type(shape)));
}

std::string emit_convert(Emitter& e, const std::string& x, const Shape& from, DType to) {
  if (from.dtype == to) return x;
  return e.helper(str_cat("stablehlo.convert ", x, " : (", mlir_type(from), ") -> ",
                          mlir_type(from.with_dtype(to))));
}

std::string emit_binary(Emitter& e, std::string_view op, const std::string& a, const std::string& b,
                        const Shape& shape) {
  return e.helper(str_cat(op, " ", a, ", ", b, " : ", mlir_type(shape)));
}

std::string emit_reduce(Emitter& e, const std::string& x, const Shape& from,
                        std::span<const int64_t> dims, const ReduceText& text) {
  const std::string init = emit_literal(e, from.dtype, text.init);
  return e.helper(str_cat("stablehlo.reduce(", x, " init: ", init, ") applies ", text.op,
                          " across dimensions = ", mlir_list(dims), " : (", mlir_type(from),
                          ", tensor<", mlir_type(from.dtype), ">) -> ",
                          mlir_type(reduced_shape(from, dims))));
}

std::string extreme_literal(DType dtype, bool greatest) {
  if (is_floating(dtype)) {
    // f8e4m3fn has no infinity; its greatest number is 448.
    const double magnitude =
        dtype == DType::kF8E4M3FN ? 448.0 : std::numeric_limits<double>::infinity();
    return mlir_literal(dtype, greatest ? magnitude : -magnitude);
  }
  if (is_bool(dtype)) return greatest ? "true" : "false";
  const int bits = dtype_bits(dtype);
  if (!is_signed_integer(dtype)) {
    return greatest ? str_cat(std::numeric_limits<uint64_t>::max() >> (64 - bits)) : "0";
  }
  const int64_t top = std::numeric_limits<int64_t>::max() >> (64 - bits);
  return str_cat(greatest ? top : -top - 1);
}

DType accumulation_dtype(DType dtype) {
  return is_floating(dtype) && dtype_bits(dtype) < 32 ? DType::kF32 : dtype;
}

Shape reduced_shape(const Shape& shape, std::span<const int64_t> dims) {
  Shape result{shape.dtype, {}};
  for (int i = 0; i < shape.rank(); ++i) {
    if (std::ranges::find(dims, i) == dims.end()) result.dims.push_back(shape.dims[i]);
  }
  return result;
}

}  // namespace tessera::stablehlo
