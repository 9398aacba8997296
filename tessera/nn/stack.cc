#include "tessera/nn/stack.h"

#include "tessera/nn/pipeline.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/shape.h"

namespace tessera {
namespace {

Tree<Value> with_values(const Tree<Value>& paths, std::span<const Value> values) {
  size_t i = 0;
  return paths.map([&](const std::string&, Value) { return values[i++]; });
}

// The layers' own parts of a stacked parameter. Its gradient is one stack of theirs, where that of
// slices would be as many padded copies to add.
std::vector<Value> unstack(Value stacked) {
  const Branch cut = [](std::span<const Value> args) {
    std::vector<Value> layers;
    for (Value layer : split(args[0], static_cast<int>(args[0].dim(0)), 0))
      layers.push_back(squeeze(layer, {0}));
    return layers;
  };
  const CustomVjp join = [](std::span<const Value>, std::span<const Value>,
                            std::span<const Value> cotangents) {
    return std::vector<Value>{stack(cotangents, 0)};
  };
  if (!is_floating(stacked.dtype())) return cut(std::span(&stacked, 1));
  return custom_gradient(cut, join, std::span(&stacked, 1));
}

}  // namespace

LayerOutput run_layers(const Tree<Value>& stacked, const StackInput& input, const LayerFn& layer,
                       const StackOptions& options) {
  if (options.pipeline && options.pipeline->mesh.axis_size("stage") > 1)
    return run_pipeline(stacked, input, layer, options);
  Value x = input.x;
  std::vector<Value> params;
  for (const auto& [path, value] : stacked) params.push_back(value);
  // The stream, and the sums where the layer has some.
  const auto step = [&](Value stream, std::span<const Value> values) {
    const auto run = [&](std::span<const Value> args) {
      const Value x = checkpoint_name(args[0], "decoder_layer_input");
      const LayerOutput output = layer(with_values(stacked, args.subspan(1)), x, input.rows);
      std::vector<Value> results = {output.x};
      if (output.sums.defined()) results.push_back(output.sums);
      return results;
    };
    std::vector<Value> args = {stream};
    args.insert(args.end(), values.begin(), values.end());
    return options.remat ? checkpoint(run, args, options.policy) : run(args);
  };
  if (options.scan) {
    const ScanBody body = [&](std::span<const Value> carry, std::span<const Value> slices) {
      std::vector<Value> results = step(carry[0], slices);
      return ScanStep{.carry = {results[0]}, .ys = {results.begin() + 1, results.end()}};
    };
    const ScanStep all = scan(body, std::span(&x, 1), params);
    return {all.carry[0], all.ys.empty() ? Value() : sum(all.ys[0], {0})};
  }
  std::vector<std::vector<Value>> by_layer;
  for (Value param : params) {
    const std::vector<Value> slices = unstack(param);
    by_layer.resize(slices.size());
    for (size_t i = 0; i < slices.size(); ++i) by_layer[i].push_back(slices[i]);
  }
  Value sums;
  for (const auto& values : by_layer) {
    const std::vector<Value> results = step(x, values);
    x = results[0];
    if (results.size() > 1) sums = sums.defined() ? sums + results[1] : results[1];
  }
  return {x, sums};
}

}  // namespace tessera
