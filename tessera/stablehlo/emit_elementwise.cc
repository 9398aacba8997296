#include "tessera/ops/elementwise.h"
#include "tessera/stablehlo/emitter.h"

namespace tessera::stablehlo {
namespace {

// Ops whose operands and result have one type: what StableHLO calls them.
const std::unordered_map<const OpDef*, std::string_view>& plain_names() {
  static const std::unordered_map<const OpDef*, std::string_view> kNames = {
      {&kAbs, "stablehlo.abs"},
      {&kSign, "stablehlo.sign"},
      {&kNeg, "stablehlo.negate"},
      {&kExp, "stablehlo.exponential"},
      {&kExpm1, "stablehlo.exponential_minus_one"},
      {&kLog, "stablehlo.log"},
      {&kLog1p, "stablehlo.log_plus_one"},
      {&kSqrt, "stablehlo.sqrt"},
      {&kRsqrt, "stablehlo.rsqrt"},
      {&kSin, "stablehlo.sine"},
      {&kCos, "stablehlo.cosine"},
      {&kTanh, "stablehlo.tanh"},
      {&kLogistic, "stablehlo.logistic"},
      {&kFloor, "stablehlo.floor"},
      {&kCeil, "stablehlo.ceil"},
      {&kRound, "stablehlo.round_nearest_even"},
      {&kNot, "stablehlo.not"},
      {&kPopcount, "stablehlo.popcnt"},
      {&kCountLeadingZeros, "stablehlo.count_leading_zeros"},
      {&kAdd, "stablehlo.add"},
      {&kSubtract, "stablehlo.subtract"},
      {&kMultiply, "stablehlo.multiply"},
      {&kDivide, "stablehlo.divide"},
      {&kRemainder, "stablehlo.remainder"},
      {&kPow, "stablehlo.power"},
      {&kAtan2, "stablehlo.atan2"},
      {&kMaximum, "stablehlo.maximum"},
      {&kMinimum, "stablehlo.minimum"},
      {&kAnd, "stablehlo.and"},
      {&kOr, "stablehlo.or"},
      {&kXor, "stablehlo.xor"},
      {&kShiftLeft, "stablehlo.shift_left"},
      {&kShiftRightLogical, "stablehlo.shift_right_logical"},
      {&kShiftRightArithmetic, "stablehlo.shift_right_arithmetic"},
      {&kClamp, "stablehlo.clamp"},
  };
  return kNames;
}

// Ops whose result differs from the operand in its dtype.
const std::unordered_map<const OpDef*, std::string_view>& conversion_names() {
  static const std::unordered_map<const OpDef*, std::string_view> kNames = {
      {&kIsFinite, "stablehlo.is_finite"},
      {&kConvert, "stablehlo.convert"},
      {&kBitcast, "stablehlo.bitcast_convert"},
  };
  return kNames;
}

void emit_plain(Emitter& e, const EmitNode& n) { e.same_type_op(n, plain_names().at(n.node.op)); }

// StableHLO has no erf; CHLO, which every plugin that reads StableHLO expands, has.
void emit_erf(Emitter& e, const EmitNode& n) {
  const std::string x = e.operand(n, 0);
  const std::string type = mlir_type(n.result_shape());
  e.line(e.bind_results(n), " = chlo.erf ", x, " : ", type, " -> ", type);
}

void emit_conversion(Emitter& e, const EmitNode& n) {
  const std::string x = e.operand(n, 0);
  e.line(e.bind_results(n), " = ", conversion_names().at(n.node.op), " ", x, " : (",
         e.operand_types(n), ") -> ", e.result_types(n));
}

std::string_view direction_text(Comparison direction) {
  switch (direction) {
    case Comparison::kEqual:
      return "EQ";
    case Comparison::kNotEqual:
      return "NE";
    case Comparison::kLess:
      return "LT";
    case Comparison::kLessEqual:
      return "LE";
    case Comparison::kGreater:
      return "GT";
    case Comparison::kGreaterEqual:
      return "GE";
  }
  return "";
}

void emit_compare(Emitter& e, const EmitNode& n) {
  const DType dtype = n.operand_shape(0).dtype;
  const std::string_view type = is_floating(dtype)         ? "FLOAT"
                                : is_signed_integer(dtype) ? "SIGNED"
                                                           : "UNSIGNED";
  const std::string operands = e.operand_list(n);
  e.line(e.bind_results(n), " = stablehlo.compare ",
         direction_text(n.attr<CompareAttrs>().direction), ", ", operands, ", ", type, " : (",
         e.operand_types(n), ") -> ", e.result_types(n));
}

void emit_select(Emitter& e, const EmitNode& n) {
  const std::string operands = e.operand_list(n);
  e.line(e.bind_results(n), " = stablehlo.select ", operands, " : ", mlir_type(n.operand_shape(0)),
         ", ", e.result_types(n));
}

// Only autodiff reads it: in the program it is its operand.
void emit_stop_gradient(Emitter& e, const EmitNode& n) {
  e.bind(n.graph, {n.index, 0}, e.operand(n, 0));
}

}  // namespace

void add_elementwise_emitters(EmitterTable& table) {
  for (const auto& [op, name] : plain_names()) table[op] = emit_plain;
  for (const auto& [op, name] : conversion_names()) table[op] = emit_conversion;
  table[&kErf] = emit_erf;
  table[&kCompare] = emit_compare;
  table[&kSelect] = emit_select;
  table[&kStopGradient] = emit_stop_gradient;
}

}  // namespace tessera::stablehlo
