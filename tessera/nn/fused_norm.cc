#include "tessera/nn/fused_norm.h"

#include "tessera/nn/call_number.h"
#include "tessera/nn/layers.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise.h"

namespace tessera {
namespace {

using Values = std::vector<Value>;
using Args = std::span<const Value>;

const std::vector<std::string> kStream = {"activation_batch", "activation_norm_length",
                                          "activation_embed"};

NormedStream by_ops(Value x, Value added, Value scale, double epsilon) {
  const Value stream = added.defined() ? constrain(x + added, kStream) : x;
  return {stream, rms_norm(stream, scale, epsilon)};
}

/// The calls, and how they are cut.
struct NormCalls {
  KernelRegion region;
  PartitionSpec stream;
  std::string epsilon;

  NormCalls(const KernelUse& use, const Dims& dims, double number)
      : region(use),
        stream(region.spec(kStream, dims)),
        epsilon(str_cat("epsilon = ", call_number(number), ",")) {}

  bool cuts_rows() const { return stream.dims.size() == 3 && !stream.dims[2].empty(); }

  Values call(const char* target, Args args, std::vector<Shape> results) const {
    return custom_call(args, {.target = target,
                              .backend_config = region.config(epsilon),
                              .results = std::move(results)});
  }

  // Of [x, added or not, scale]: the stream and its norm.
  Values forward(Args args) const {
    const size_t streams = args.size() - 1;
    std::vector<PartitionSpec> in(streams, stream);
    in.emplace_back();
    if (streams == 1) {
      const Values normed = region.run(in, {stream}, args, [&](Args local) {
        return call("tessera.rms_norm", local, {local[0].shape()});
      });
      return {args[0], normed[0]};
    }
    return region.run(in, {stream, stream}, args, [&](Args local) {
      return call("tessera.add_rms_norm", local, {local[0].shape(), local[0].shape()});
    });
  }

  // Of the stream, scale, and the cotangents of stream and norm: those of the stream and scale.
  Values backward(Args args) const {
    return region.run({stream, {}, stream, stream}, {stream, {}}, args, [&](Args local) {
      Values grads = call("tessera.rms_norm_gradient", local,
                          {local[0].shape(), Shape{DType::kF32, local[1].dims()}});
      for (int dim = 0; dim < 2 && !stream.dims.empty(); ++dim)
        grads[1] = region.sum(grads[1], stream.dims[dim]);
      grads[1] = convert(grads[1], local[1].dtype());
      return grads;
    });
  }
};

}  // namespace

NormedStream norm_stream(Value x, Value added, Value scale, double epsilon,
                         const Kernels& kernels) {
  const bool takes = kernels && kernels->has("rms_norm") && x.rank() == 3 &&
                     (x.dtype() == DType::kBF16 || x.dtype() == DType::kF32) &&
                     scale.dtype() == x.dtype() && x.shape().elements() > 0;
  if (!takes) return by_ops(x, added, scale, epsilon);
  const NormCalls calls(*kernels, x.dims(), epsilon);
  if (calls.cuts_rows()) return by_ops(x, added, scale, epsilon);
  const CustomVjp vjp = [calls](Args args, Args results, Args cotangents) {
    const auto or_zeros = [&](Value cotangent) {
      return cotangent.defined() ? cotangent : zeros(args[0].graph(), args[0].shape());
    };
    const Value all[] = {results[0], args.back(), or_zeros(cotangents[0]), or_zeros(cotangents[1])};
    const Values grads = calls.backward(all);
    Values of_args(args.size() - 1, grads[0]);
    of_args.push_back(grads[1]);
    return of_args;
  };
  Values args = {x};
  if (added.defined()) args.push_back(added);
  args.push_back(scale);
  const Values results =
      custom_gradient([&](Args inner) { return calls.forward(inner); }, vjp, args);
  return {constrain(results[0], kStream), results[1]};
}

}  // namespace tessera
