#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tessera/stablehlo/emitter.h"

namespace tessera::stablehlo {

// Pieces of text that the emitters of several families are made of. Each emits a helper value and
// returns its name.

/// A scalar constant, with the literal as it stands: `emit_literal(e, DType::kF32, "0xFF800000")`.
std::string emit_literal(Emitter& e, DType dtype, std::string_view literal);
/// The scalar repeated over `shape`; the scalar itself when that has rank 0.
std::string emit_splat(Emitter& e, const std::string& scalar, const Shape& shape);
/// `x` of shape `from` as dtype `to`; x itself when it has it.
std::string emit_convert(Emitter& e, const std::string& x, const Shape& from, DType to);
/// `%k = op a, b : type`.
std::string emit_binary(Emitter& e, std::string_view op, const std::string& a, const std::string& b,
                        const Shape& shape);

/// x reduced over `dims` by an op of StableHLO that starts from the literal `init`.
struct ReduceText {
  std::string_view op;
  std::string_view init;
};
std::string emit_reduce(Emitter& e, const std::string& x, const Shape& from,
                        std::span<const int64_t> dims, const ReduceText& text);

/// The literal of the value that is neutral for max (`greatest` false: the least there is) or min.
std::string extreme_literal(DType dtype, bool greatest);

/// The dtype in which sums and products of `dtype` are accumulated: f32 for narrower floats.
DType accumulation_dtype(DType dtype);

/// `shape` without `dims`.
Shape reduced_shape(const Shape& shape, std::span<const int64_t> dims);

}  // namespace tessera::stablehlo
