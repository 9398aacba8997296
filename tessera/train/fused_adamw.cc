#include "tessera/train/fused_adamw.h"

#include "tessera/nn/call_number.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/shape.h"

namespace tessera {
namespace {

bool is_fit(Value piece) { return piece.dtype() == DType::kBF16 || piece.dtype() == DType::kF32; }

// Past what changes no element, nor where it stands.
Value origin(Value x) {
  while (true) {
    const Node& node = x.graph().node(x.id().node);
    const bool same = node.op == &kConstrain || node.op == &kReshape || node.op == &kConvert;
    if (!same) return x;
    const Value from = x.graph().value(node.operands[0]);
    if (!is_fit(from)) return x;
    x = from;
  }
}

}  // namespace

bool can_fuse_adamw(const OptimizerConfig& config, const Kernels& kernels) {
  return config.kind == OptimizerKind::kAdamw && config.moment_dtype == DType::kF32 && kernels &&
         kernels->has("adamw") && KernelRegion(*kernels).is_whole();
}

std::vector<Value> gradient_pieces(Value grad) {
  const Value whole = origin(grad);
  const Node& node = whole.graph().node(whole.id().node);
  if (node.op != &kConcatenate || node.attr<ConcatenateAttrs>().dim != 0) return {whole};
  std::vector<Value> pieces;
  for (ValueId id : node.operands) pieces.push_back(origin(whole.graph().value(id)));
  return pieces;
}

ParamNext fused_adamw(const ParamStep& s, const OptimizerConfig& config, const KernelUse& kernels) {
  const auto seen = [&](double decay) {
    return 1.0 / (1.0 - pow(scalar_like(s.count, decay), s.count));
  };
  const Value factor =
      s.grad_factor.defined() ? s.grad_factor : ones(s.count.graph(), Shape{DType::kF32, {}});
  std::vector<Value> args = {
      s.param, s.slots[0], s.slots[1],
      stack({s.learning_rate, seen(config.b1), seen(config.resolved_b2()), factor})};
  for (Value piece : gradient_pieces(s.raw_grad)) args.push_back(piece);
  const std::string numbers =
      str_cat("b1 = ", call_number(config.b1), ", b2 = ", call_number(config.resolved_b2()),
              ", epsilon = ", call_number(config.epsilon),
              ", weight_decay = ", call_number(s.weight_decay), ",");
  const Shape shape = s.param.shape();
  const std::vector<Value> next =
      custom_call(args, {.target = "tessera.adamw",
                         .backend_config = KernelRegion(kernels).config(numbers),
                         .results = {shape, shape, shape},
                         .aliases = {{0, 0}, {1, 1}, {2, 2}}});
  return {next[0], {next[1], next[2]}};
}

Value fused_sums_of_squares(const Tree<Value>& grads, const KernelUse& kernels) {
  std::vector<Value> args;
  std::string groups;
  for (const auto& [path, grad] : grads) {
    const std::vector<Value> pieces = gradient_pieces(grad);
    args.insert(args.end(), pieces.begin(), pieces.end());
    str_append(&groups, groups.empty() ? "" : ", ", pieces.size());
  }
  const Shape shape{DType::kF32, {static_cast<int64_t>(grads.size())}};
  return custom_call(args, {.target = "tessera.sums_of_squares",
                            .backend_config = KernelRegion(kernels).config(
                                str_cat("groups = array<i64: ", groups, ">,")),
                            .results = {shape}})[0];
}

}  // namespace tessera
