#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "tessera/ir/op.h"

namespace tessera::elementwise_internal {

// Which dtypes an op takes, as a set of bits.
inline constexpr int kFloats = 1;
inline constexpr int kSigned = 2;
inline constexpr int kUnsigned = 4;
inline constexpr int kBools = 8;
inline constexpr int kIntegers = kSigned | kUnsigned;
inline constexpr int kNumbers = kFloats | kIntegers;
inline constexpr int kAnything = kNumbers | kBools;

/// Fails unless `dtype` is in the set; says which there are and how to convert.
void check_dtype(DType dtype, int kinds);
/// Fails unless all have one dtype; says how to convert.
void check_same_dtype(std::span<const Shape> shapes);
/// Fails unless all have the same sizes (builders have broadcast them where that is possible).
void check_same_dims(std::span<const Shape> shapes);
/// "DType::kBF16".
std::string dtype_enumerator(DType dtype);

/// The rule of an op whose operands and result share one shape and a dtype of the set.
template <int kinds>
std::vector<Shape> infer_same(const InferContext& c) {
  check_same_dtype(c.operands);
  check_dtype(c.operands[0].dtype, kinds);
  check_same_dims(c.operands);
  return {c.operands[0]};
}

/// Broadcasts the values against each other and applies the op. Leaves them alone when they do not
/// broadcast, so that the op's shape rule complains, with its name and scope.
Value apply_broadcast(const OpDef& op, std::initializer_list<Value> values, std::any attrs = {});

/// The ops that each file defines.
std::span<const OpDef* const> unary_ops();
std::span<const OpDef* const> binary_ops();
std::span<const OpDef* const> compare_ops();

}  // namespace tessera::elementwise_internal
