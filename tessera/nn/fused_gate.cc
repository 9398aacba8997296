#include "tessera/nn/fused_gate.h"

#include "tessera/base/strings.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/shape.h"

namespace tessera {
namespace {

using Args = std::span<const Value>;

}  // namespace

bool can_fuse_gate(Value x, const Kernels& kernels) {
  return kernels && kernels->has("swiglu") &&
         (x.dtype() == DType::kBF16 || x.dtype() == DType::kF32) && x.shape().elements() > 0;
}

Value fused_gate(Value both_CF, Activation activation, std::vector<std::string> names,
                 const KernelUse& kernels) {
  const KernelRegion region(kernels);
  Dims dims = both_CF.dims();
  dims.erase(dims.end() - 2);
  PartitionSpec half = region.spec(names, dims), both = half;
  if (!half.dims.empty()) {
    half.dims.resize(dims.size());
    both = half;
    both.dims.insert(both.dims.end() - 1, std::vector<std::string>());
  }
  const std::string config =
      region.config(str_cat("gate = ", activation == Activation::kSilu ? 0 : 1, " : i64,"));
  const auto call = [config](const char* target, Args args, Dims result) {
    return custom_call(args, {.target = target,
                              .backend_config = config,
                              .results = {Shape{args[0].dtype(), std::move(result)}}});
  };
  const Branch run = [&](Args args) {
    return region.run({both}, {half}, args, [&](Args local) {
      Dims result = local[0].dims();
      result.erase(result.end() - 2);
      return call("tessera.swiglu", local, std::move(result));
    });
  };
  const CustomVjp vjp = [=](Args args, Args, Args cotangents) {
    const Value all[] = {args[0], cotangents[0]};
    return region.run({both, half}, {both}, all, [&](Args local) {
      return call("tessera.swiglu_gradient", local, local[0].dims());
    });
  };
  const Value args[] = {both_CF};
  return custom_gradient(run, vjp, args)[0];
}

Value gated(Value x, Value gate, Value up, const GateProducts& how) {
  if (can_fuse_gate(x, how.kernels)) {
    const Value weights = stack({gate, up}, gate.rank() - 1);
    const Value both = checkpoint_name(einsum(how.both, {x, weights}), "mlpwi");
    return fused_gate(both, how.activation, how.names, *how.kernels);
  }
  const Value of_gate = checkpoint_name(einsum(how.each, {x, gate}), "mlpwi_0");
  const Value of_up = checkpoint_name(einsum(how.each, {x, up}), "mlpwi_1");
  return activate(of_gate, how.activation) * of_up;
}

}  // namespace tessera
