#include "tessera/train/batch_gradients.h"

#include "tessera/ops/autodiff.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/control.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/random.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/shape.h"
#include "tessera/ops/sharding_ops.h"
#include "tessera/train/layout.h"
#include "tessera/train/parallel_config.h"
#include "tessera/train/remat.h"
#include "tessera/train/traced_program.h"

namespace tessera {
namespace {

// The model as training computes it; without dropout.
ComputeOptions compute_options(const StepContext& context) {
  const TrainingConfig& training = context.training;
  ComputeOptions options{.dtype = training.dtype == ComputeType::kBf16 ? DType::kBF16 : DType::kF32,
                         .stack = stack_options(training)};
  if (context.layout == nullptr) return options;
  const Layout& layout = *context.layout;
  const int64_t stages = axis_degree(layout.mesh, "stage");
  if (stages > 1) {
    options.stack.pipeline = {.mesh = layout.mesh,
                              .microbatches = pipeline_microbatches(training, stages),
                              .repeats = training.pipeline_repeats};
  }
  options.attention = {.strategy = training.context_parallel_strategy,
                       .load_balanced = training.context_parallel_load_balance,
                       .mesh = layout.mesh,
                       .rules = layout.rules,
                       .fused = layout.kernels.has("attention"),
                       .kernel_threads = layout.kernels.threads};
  if (stages > 1) options.attention.manual_axes = {"stage"};
  options.kernels = kernel_use(&layout);
  return options;
}

/// A batch in the order of its columns in which devices have equal shares of attention's work. The
/// loss, a sum over tokens, knows no order.
class OrderedBatch {
 public:
  OrderedBatch(const Tree<Value>& batch, const StepContext& context) : batch_(batch) {
    if (!context.layout || !context.training.context_parallel_load_balance) return;
    const Result<int64_t> shards = sequence_shards(context.layout->rules, context.layout->mesh);
    if (!shards.ok()) throw TraceError(shards.status());
    shards_ = *shards;
  }

  Value at(std::string_view name) const {
    const Value value = find_value(batch_, name);
    if (!value.defined() || shards_ == 1) return value;
    return constrain(balance_causal_order(value, shards_, 1),
                     {"activation_batch", "activation_length"});
  }

  DecoderInputs inputs() const {
    DecoderInputs inputs{.tokens_BT = at("tokens"),
                         .positions_BT = at("positions"),
                         .segment_ids_BT = at("segment_ids"),
                         .mask_BT = at("mask")};
    if (shards_ == 1) return inputs;
    const Shape columns{DType::kS32, {inputs.tokens_BT.dim(1)}};
    inputs.order_T = balance_causal_order(iota(inputs.tokens_BT.graph(), columns, 0), shards_, 0);
    return inputs;
  }

 private:
  const Tree<Value>& batch_;
  int64_t shards_ = 1;
};

/// Sums over rows; a loss is made of them at the end.
struct Sums {
  Value cross_entropy, z_loss, aux, statistics;
};

/// What turns sums into means, known before anything is computed.
struct Divisors {
  Value weight;  ///< f32[], above 0
  int64_t rows = 0;
  double z_coefficient = 0;

  Value loss(const Sums& sums) const {
    Value total = sums.cross_entropy;
    if (z_coefficient != 0) total = total + sums.z_loss * z_coefficient;
    total = total / weight;
    return sums.aux.defined() ? total + sums.aux * (1 / static_cast<double>(rows)) : total;
  }
};

Sums sums_of(const LanguageModel& model, const Tree<Value>& params, const Tree<Value>& batch,
             const StepContext& context, ComputeOptions options) {
  const OrderedBatch ordered(batch, context);
  const DecoderInputs inputs = ordered.inputs();
  options.dropout.order_T = inputs.order_T;
  const ModelOutput output = model.forward(params, inputs, options);
  const LossSums loss = language_model_loss(output.logits_BTV, ordered.at("targets"),
                                            ordered.at("mask"), options.kernels);
  return {loss.cross_entropy, loss.z_loss, output.aux_loss_sum, output.statistics};
}

struct Part {
  Sums sums;
  Tree<Value> grads;
};

Part part_gradients(const LanguageModel& model, const Tree<Value>& params,
                    const Tree<ParamSpec>& trained, const Tree<Value>& batch,
                    const Divisors& divisors, const StepContext& context,
                    const ComputeOptions& options) {
  Part part;
  part.sums = sums_of(model, params, batch, context, options);
  std::vector<Value> wanted;
  for (const auto& [path, spec] : trained) wanted.push_back(params.at(path));
  const std::vector<Value> grads = gradients(divisors.loss(part.sums), wanted);
  const auto scope = divisors.weight.graph().scope("gradients");
  size_t i = 0;
  part.grads = trained.map([&](const std::string&, const ParamSpec& spec) {
    return constrain(convert(grads[i++], DType::kF32), spec.names);
  });
  return part;
}

// [B, ...] → [parts, B / parts, ...], part k of rows k, k + parts, ...: the dimension that the mesh
// splits stays whole, so no row moves to another device.
Value split_rows(Value x, int64_t parts) {
  Dims dims = x.dims();
  dims.front() /= parts;
  dims.insert(dims.begin() + 1, parts);
  std::vector<std::string> names(dims.size());
  names[1] = "activation_batch";
  if (names.size() > 2) names[2] = "activation_length";
  return constrain(swap_dims(reshape(x, dims), 0, 1), names);
}

Part accumulated_gradients(const LanguageModel& model, const Tree<Value>& params,
                           const Tree<ParamSpec>& trained, const Tree<Value>& batch,
                           const Divisors& divisors, const StepContext& context,
                           const ComputeOptions& options) {
  const int64_t count = context.training.gradient_accumulation_steps;
  Graph& graph = divisors.weight.graph();
  std::vector<Value> parts;
  for (const auto& [name, value] : batch) parts.push_back(split_rows(value, count));
  parts.push_back(iota(graph, Shape{DType::kS32, {count}}, 0));
  const Value zero = zeros(graph, Shape{DType::kF32, {}});
  std::vector<Value> init = {zero, zero, zero};
  for (const auto& [path, spec] : trained)
    init.push_back(constrain(zeros(graph, Shape{DType::kF32, spec.dims}), spec.names));
  bool has_aux = false;
  const ScanBody body = [&](std::span<const Value> carry, std::span<const Value> slices) {
    size_t i = 0;
    const Tree<Value> rows = batch.map([&](const std::string&, Value) { return slices[i++]; });
    ComputeOptions own = options;
    own.dropout = options.dropout.at(slices[i]);
    const Part part = part_gradients(model, params, trained, rows, divisors, context, own);
    has_aux = part.sums.aux.defined();
    std::vector<Value> next = {carry[0] + part.sums.cross_entropy, carry[1] + part.sums.z_loss,
                               has_aux ? carry[2] + part.sums.aux : carry[2]};
    for (const auto& [path, grad] : part.grads) next.push_back(carry[next.size()] + grad);
    std::vector<Value> ys;  // their size is the model's own
    if (part.sums.statistics.defined()) ys.push_back(part.sums.statistics);
    return ScanStep{.carry = std::move(next), .ys = std::move(ys)};
  };
  const ScanStep all = scan(body, init, parts);
  const std::vector<Value>& total = all.carry;
  Part whole;
  whole.sums = {total[0], total[1], has_aux ? total[2] : Value(),
                all.ys.empty() ? Value() : sum(all.ys[0], {0})};
  size_t i = 3;
  whole.grads = trained.map([&](const std::string&, const ParamSpec&) { return total[i++]; });
  return whole;
}

Dropout step_dropout(Value step, const StepContext& context) {
  const TrainingConfig& training = context.training;
  constexpr uint32_t kStream = 0x64726f70;  // other numbers than those of initial weights
  const Value key = fold_in(random_key(step.graph(), training.seed), kStream);
  return {.rate = training.dropout, .key = fold_in(key, step)};
}

}  // namespace

Kernels kernel_use(const Layout* layout) {
  // Inside a pipeline's stages layers keep to the ops.
  if (layout == nullptr || axis_degree(layout->mesh, "stage") > 1) return nullptr;
  KernelUse use{.names = {},
                .threads = layout->kernels.threads,
                .mesh = layout->mesh,
                .rules = layout->rules};
  for (const Kernel* kernel : layout->kernels.kernels) use.names.emplace_back(kernel->name);
  return use.names.empty() ? nullptr : std::make_shared<const KernelUse>(std::move(use));
}

LossSums batch_loss_sums(const LanguageModel& model, const Tree<Value>& params,
                         const Tree<Value>& batch, const StepContext& context) {
  const Sums sums = sums_of(model, params, batch, context, compute_options(context));
  return {
      .cross_entropy = sums.cross_entropy, .z_loss = sums.z_loss, .weight = sum(batch.at("mask"))};
}

BatchGradients batch_gradients(const LanguageModel& model, const Tree<Value>& params,
                               const Tree<ParamSpec>& trained, const Tree<Value>& batch, Value step,
                               const StepContext& context) {
  const TrainingConfig& training = context.training;
  const Value weight = sum(batch.at("mask"));
  const Divisors divisors{.weight = maximum(weight, 1e-8),
                          .rows = training.batch_size,
                          .z_coefficient = training.z_loss};
  ComputeOptions options = compute_options(context);
  if (training.dropout > 0) options.dropout = step_dropout(step, context);
  Part whole =
      training.gradient_accumulation_steps == 1
          ? part_gradients(model, params, trained, batch, divisors, context, options)
          : accumulated_gradients(model, params, trained, batch, divisors, context, options);
  BatchGradients result{.loss = divisors.loss(whole.sums),
                        .cross_entropy = whole.sums.cross_entropy / divisors.weight,
                        .weight = weight,
                        .grads = std::move(whole.grads)};
  if (whole.sums.aux.defined())
    result.aux_loss = whole.sums.aux * (1 / static_cast<double>(divisors.rows));
  if (whole.sums.statistics.defined())
    result.metrics = model.metrics(stop_gradient(whole.sums.statistics), divisors.rows);
  return result;
}

}  // namespace tessera
