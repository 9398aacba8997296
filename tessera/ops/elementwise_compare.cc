// Comparisons, and the choices that are made by them.
#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise_binary.h"
#include "tessera/ops/elementwise_internal.h"

namespace tessera {

using elementwise_internal::apply_broadcast;
using elementwise_internal::check_same_dims;
using elementwise_internal::check_same_dtype;
using elementwise_internal::infer_same;
using elementwise_internal::kNumbers;

namespace {

std::vector<Shape> infer_compare(const InferContext& c) {
  check_same_dtype(c.operands);
  check_same_dims(c.operands);
  return {c.operands[0].with_dtype(DType::kBool)};
}

std::vector<Shape> infer_select(const InferContext& c) {
  if (!is_bool(c.operands[0].dtype)) {
    fail("the condition must be bool, got ", dtype_name(c.operands[0].dtype),
         ": compare it, for example with not_equal(x, 0)");
  }
  check_same_dtype(c.operands.subspan(1));
  check_same_dims(c.operands);
  return {c.operands[1]};
}

void vjp_select(Vjp& v) {
  const Value condition = v.operand(0);
  if (v.needs(1)) v.set_grad(1, select(condition, v.cotangent(), 0));
  if (v.needs(2)) v.set_grad(2, select(condition, 0, v.cotangent()));
}

void vjp_clamp(Vjp& v) {
  const Value low = v.operand(0);
  const Value x = v.operand(1);
  const Value high = v.operand(2);
  if (v.needs(0)) v.set_grad(0, select(greater(low, x), v.cotangent(), 0));
  if (v.needs(1)) {
    const Value inside = logical_and(greater(x, low), less(x, high));
    v.set_grad(1, select(inside, v.cotangent(), 0));
  }
  if (v.needs(2)) v.set_grad(2, select(less(high, x), v.cotangent(), 0));
}

Value compare(Comparison direction, Value a, Value b) {
  return apply_broadcast(kCompare, {a, b}, CompareAttrs{direction});
}
Value compare(Comparison direction, Value a, double b) {
  return apply(kCompare, {a, full_like(a, b)}, CompareAttrs{direction});
}

}  // namespace

const OpDef kClamp = {.name = "clamp", .infer = infer_same<kNumbers>, .vjp = vjp_clamp};
const OpDef kCompare = {.name = "compare",
                        .infer = infer_compare,
                        .no_gradient = "its result is bool",
                        .zero_gradient = true};
const OpDef kSelect = {.name = "select", .infer = infer_select, .vjp = vjp_select};

Value equal(Value a, Value b) { return compare(Comparison::kEqual, a, b); }
Value equal(Value a, double b) { return compare(Comparison::kEqual, a, b); }
Value not_equal(Value a, Value b) { return compare(Comparison::kNotEqual, a, b); }
Value not_equal(Value a, double b) { return compare(Comparison::kNotEqual, a, b); }
Value less(Value a, Value b) { return compare(Comparison::kLess, a, b); }
Value less(Value a, double b) { return compare(Comparison::kLess, a, b); }
Value less_equal(Value a, Value b) { return compare(Comparison::kLessEqual, a, b); }
Value less_equal(Value a, double b) { return compare(Comparison::kLessEqual, a, b); }
Value greater(Value a, Value b) { return compare(Comparison::kGreater, a, b); }
Value greater(Value a, double b) { return compare(Comparison::kGreater, a, b); }
Value greater_equal(Value a, Value b) { return compare(Comparison::kGreaterEqual, a, b); }
Value greater_equal(Value a, double b) { return compare(Comparison::kGreaterEqual, a, b); }

Value clamp(Value x, Value low, Value high) { return apply_broadcast(kClamp, {low, x, high}); }
Value clamp(Value x, double low, double high) {
  return apply(kClamp, {full_like(x, low), x, full_like(x, high)});
}

Value select(Value condition, Value on_true, Value on_false) {
  return apply_broadcast(kSelect, {condition, on_true, on_false});
}
Value select(Value condition, Value on_true, double on_false) {
  return select(condition, on_true, scalar_like(on_true, on_false));
}
Value select(Value condition, double on_true, Value on_false) {
  return select(condition, scalar_like(on_false, on_true), on_false);
}

std::span<const OpDef* const> elementwise_internal::compare_ops() {
  static constexpr const OpDef* kOps[] = {&kClamp, &kCompare, &kSelect};
  return kOps;
}

}  // namespace tessera
