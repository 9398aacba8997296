#include "tessera/ops/elementwise.h"

#include <algorithm>
#include <cctype>

#include "tessera/ops/elementwise_internal.h"
#include "tessera/ops/registry.h"
#include "tessera/ops/shape.h"

namespace tessera {
namespace elementwise_internal {
namespace {

int kind_of(DType dtype) {
  if (is_bool(dtype)) return kBools;
  if (is_floating(dtype)) return kFloats;
  return is_signed_integer(dtype) ? kSigned : kUnsigned;
}

std::string_view describe_kinds(int kinds) {
  switch (kinds) {
    case kFloats:
      return "a floating dtype";
    case kFloats | kSigned:
      return "a floating or signed integer dtype";
    case kNumbers:
      return "a floating or integer dtype";
    case kIntegers:
      return "an integer dtype";
    case kIntegers | kBools:
      return "bool or an integer dtype";
    default:
      return "bool";
  }
}

// What the user most likely wants instead: the first dtype of the set that people use.
std::string_view conversion_for(int kinds) {
  if (kinds & kFloats) return "convert it with convert(x, DType::kF32)";
  if (kinds == kBools) return "compare it, for example with not_equal(x, 0)";
  return "convert it with convert(x, DType::kS32)";
}

void broadcast_together(std::span<Value> values) {
  if (std::ranges::any_of(values, [](Value v) { return !v.defined(); })) return;
  Dims dims = values[0].dims();
  for (Value value : values.subspan(1)) {
    if (value.dims() == dims) continue;
    Result<Dims> joint = broadcast_dims(dims, value.dims());
    if (!joint.ok()) return;
    dims = *std::move(joint);
  }
  for (Value& value : values) value = broadcast_to(value, dims);
}

}  // namespace

void check_dtype(DType dtype, int kinds) {
  if (kind_of(dtype) & kinds) return;
  fail("needs ", describe_kinds(kinds), ", got ", dtype_name(dtype), ": ", conversion_for(kinds));
}

std::string dtype_enumerator(DType dtype) {
  std::string name(dtype_name(dtype));
  if (is_bool(dtype)) return "DType::kBool";
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return str_cat("DType::k", name);
}

void check_same_dtype(std::span<const Shape> shapes) {
  for (const Shape& shape : shapes) {
    if (shape.dtype == shapes[0].dtype) continue;
    // Of two dtypes the one that loses less: floats before integers, then the wider.
    const auto rank = [](DType d) { return 100 * is_floating(d) + dtype_bits(d); };
    const DType better = rank(shape.dtype) > rank(shapes[0].dtype) ? shape.dtype : shapes[0].dtype;
    fail("dtypes ", dtype_name(shapes[0].dtype), " and ", dtype_name(shape.dtype),
         " are mixed: convert one with convert(x, ", dtype_enumerator(better), ")");
  }
}

void check_same_dims(std::span<const Shape> shapes) {
  for (const Shape& shape : shapes) {
    if (shape.dims == shapes[0].dims) continue;
    const Result<Dims> joint = broadcast_dims(shapes[0].dims, shape.dims);
    if (!joint.ok()) fail(from_absl(joint.status().message()));
    fail("shapes ", dims_to_string(shapes[0].dims), " and ", dims_to_string(shape.dims),
         " differ: broadcast_to() makes them equal");
  }
}

Value apply_broadcast(const OpDef& op, std::initializer_list<Value> values, std::any attrs) {
  std::vector<Value> operands(values);
  broadcast_together(operands);
  return apply(op, std::span<const Value>(operands), std::move(attrs));
}

}  // namespace elementwise_internal

std::span<const OpDef* const> elementwise_ops() {
  static const std::vector<const OpDef*> kOps = [] {
    std::vector<const OpDef*> ops;
    for (auto family : {elementwise_internal::unary_ops(), elementwise_internal::binary_ops(),
                        elementwise_internal::compare_ops()}) {
      ops.insert(ops.end(), family.begin(), family.end());
    }
    return ops;
  }();
  return kOps;
}

}  // namespace tessera
