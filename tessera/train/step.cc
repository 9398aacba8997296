#include "tessera/train/step.h"

#include "tessera/nn/loss.h"
#include "tessera/ops/autodiff.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/shape.h"
#include "tessera/ops/sharding_ops.h"
#include "tessera/train/layout.h"
#include "tessera/train/optimizer.h"
#include "tessera/train/parallel_config.h"

namespace tessera {
namespace {

const std::vector<std::string> kBatchNames = {"activation_batch", "activation_length"};

ComputeOptions compute_options(const TrainingConfig& training, const Layout* layout) {
  ComputeOptions options{.dtype = training.dtype == ComputeType::kBf16 ? DType::kBF16 : DType::kF32,
                         .stack = {.scan = training.scan_layers, .remat = training.remat}};
  if (layout == nullptr) return options;
  const int64_t stages = axis_degree(layout->mesh, "stage");
  if (stages > 1) {
    options.stack.pipeline = {.mesh = layout->mesh,
                              .microbatches = pipeline_microbatches(training, stages),
                              .repeats = training.pipeline_repeats};
  }
  options.attention = {.strategy = training.context_parallel_strategy,
                       .load_balanced = training.context_parallel_load_balance,
                       .mesh = layout->mesh,
                       .rules = layout->rules};
  if (stages > 1) options.attention.manual_axes = {"stage"};
  return options;
}

/// The parameters of a trace by path.
class Arguments {
 public:
  Arguments(std::span<const ArgumentSpec> specs, std::span<const Value> values) {
    for (size_t i = 0; i < specs.size(); ++i) CHECK(tree_.add(specs[i].path, values[i]).ok());
  }
  Value at(std::string_view path) const { return tree_.at(path); }
  Tree<Value> subtree(std::string_view prefix) const { return tree_.subtree(prefix); }
  Value find(std::string_view path) const {
    const Value* found = tree_.find(path);
    return found ? *found : Value();
  }

 private:
  Tree<Value> tree_;
};

std::vector<ArgumentSpec> argument_specs(std::string_view prefix, const Tree<ParamSpec>& specs) {
  std::vector<ArgumentSpec> arguments;
  for (const auto& [path, spec] : specs)
    arguments.push_back({str_cat(prefix, ".", path), spec.shape(), spec.names});
  return arguments;
}

std::vector<NamedShape> named_shapes(std::span<const ArgumentSpec> specs) {
  std::vector<NamedShape> shapes;
  for (const ArgumentSpec& spec : specs) shapes.push_back({spec.path, spec.shape});
  return shapes;
}

/// A batch in the order of its columns in which devices have equal shares of attention's work. The
/// loss, a sum over tokens, knows no order.
class OrderedBatch {
 public:
  OrderedBatch(const Arguments& arguments, const TrainingConfig& training, const Layout* layout)
      : arguments_(arguments) {
    if (layout == nullptr || !training.context_parallel_load_balance) return;
    const Result<int64_t> shards = sequence_shards(layout->rules, layout->mesh);
    if (!shards.ok()) throw TraceError(shards.status());
    shards_ = *shards;
  }

  Value at(std::string_view name) const {
    const Value value = arguments_.find(str_cat("batch.", name));
    if (!value.defined() || shards_ == 1) return value;
    return constrain(balance_causal_order(value, shards_, 1), kBatchNames);
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
  const Arguments& arguments_;
  int64_t shards_ = 1;
};

LossSums batch_loss(const LanguageModel& model, const Tree<Value>& params,
                    const Arguments& arguments, const TrainingConfig& training,
                    const Layout* layout) {
  const OrderedBatch batch(arguments, training, layout);
  const Value logits_BTV =
      model.forward(params, batch.inputs(), compute_options(training, layout)).logits_BTV;
  return language_model_loss(logits_BTV, batch.at("targets"), batch.at("mask"));
}

std::vector<Value> values_of(const Tree<Value>& tree) {
  std::vector<Value> values;
  for (const auto& [path, value] : tree) values.push_back(value);
  return values;
}

void append(std::vector<Value>& all, const Tree<Value>& tree) {
  for (const auto& [path, value] : tree) all.push_back(value);
}

ArgumentSpec scalar_spec(std::string path) { return {std::move(path), Shape{DType::kF32, {}}, {}}; }

}  // namespace

std::vector<ArgumentSpec> state_spec(const LanguageModel& model) {
  const Tree<ParamSpec> params = model.params();
  std::vector<ArgumentSpec> state = argument_specs("params", params);
  const std::vector<ArgumentSpec> optimizer = argument_specs("optimizer", adamw_state(params));
  state.insert(state.end(), optimizer.begin(), optimizer.end());
  state.push_back({"step", Shape{DType::kS32, {}}, {}});
  return state;
}

std::vector<ArgumentSpec> batch_spec(const TrainingConfig& training) {
  const Dims dims = {training.batch_size, training.sequence_length};
  const std::vector<std::string>& names = kBatchNames;
  std::vector<ArgumentSpec> batch = {{"batch.tokens", {DType::kS32, dims}, names},
                                     {"batch.targets", {DType::kS32, dims}, names},
                                     {"batch.mask", {DType::kF32, dims}, names}};
  if (training.attend_across_documents) return batch;
  batch.push_back({"batch.segment_ids", {DType::kS32, dims}, names});
  batch.push_back({"batch.positions", {DType::kS32, dims}, names});
  return batch;
}

Result<TracedProgram> trace_init(const LanguageModel& model, const TrainingConfig& training) {
  TracedProgram program;
  program.results = state_spec(model);
  ASSIGN_OR_RETURN(program.graph, trace({}, [&](Graph& graph, std::span<const Value>) {
                     const Tree<ParamSpec> params = model.params();
                     std::vector<Value> state =
                         values_of(initial_params(graph, params, training.seed));
                     append(state, initial_params(graph, adamw_state(params), training.seed));
                     state.push_back(zeros(graph, Shape{DType::kS32, {}}));
                     return state;
                   }));
  return program;
}

Result<TracedProgram> trace_train_step(const LanguageModel& model, const RunConfig& config,
                                       const Layout* layout) {
  TracedProgram program;
  program.arguments = state_spec(model);
  program.results = program.arguments;
  program.donate = {"params", "optimizer", "step"};
  for (ArgumentSpec& spec : batch_spec(config.training))
    program.arguments.push_back(std::move(spec));
  program.arguments.push_back(scalar_spec("learning_rate"));
  for (const char* metric : {"loss", "cross_entropy", "weight", "gradient_norm"}) {
    program.results.push_back(scalar_spec(str_cat("metrics.", metric)));
  }
  program.results.push_back({"metrics.gradient_norms",
                             Shape{DType::kF32, {static_cast<int64_t>(model.params().size())}},
                             {""}});

  const BodyFn body = [&](Graph&, std::span<const Value> values) {
    const Arguments arguments(program.arguments, values);
    const Tree<Value> params = arguments.subtree("params");
    const LossSums sums = batch_loss(model, params, arguments, config.training, layout);
    const Value loss = mean_loss(sums, config.training.z_loss);
    const std::vector<Value> gradient_values = gradients(loss, values_of(params));
    size_t i = 0;
    Tree<Value> grads = params.map([&](const std::string&, Value) { return gradient_values[i++]; });
    const GradientNorms norms = gradient_norms(grads);
    const double clip = config.optimizer.clip_norm;
    if (clip > 0) grads = clip_by_global_norm(grads, norms.global, clip);
    const Value step = arguments.at("step") + 1;
    const AdamwResult next =
        adamw(params, grads, arguments.subtree("optimizer"),
              {.count = convert(step, DType::kF32), .learning_rate = arguments.at("learning_rate")},
              config.optimizer);
    std::vector<Value> results = values_of(next.params);
    append(results, next.state);
    for (Value result : {step, loss, sums.cross_entropy / maximum(sums.weight, 1e-8), sums.weight,
                         norms.global, norms.each}) {
      results.push_back(result);
    }
    return results;
  };
  ASSIGN_OR_RETURN(program.graph, trace(named_shapes(program.arguments), body));
  return program;
}

Result<TracedProgram> trace_eval_step(const LanguageModel& model, const TrainingConfig& training,
                                      const Layout* layout) {
  TracedProgram program;
  program.arguments = argument_specs("params", model.params());
  for (ArgumentSpec& spec : batch_spec(training)) program.arguments.push_back(std::move(spec));
  program.results = {scalar_spec("cross_entropy"), scalar_spec("weight")};
  const BodyFn body = [&](Graph&, std::span<const Value> values) {
    const Arguments arguments(program.arguments, values);
    const LossSums sums =
        batch_loss(model, arguments.subtree("params"), arguments, training, layout);
    return std::vector<Value>{sums.cross_entropy, sums.weight};
  };
  ASSIGN_OR_RETURN(program.graph, trace(named_shapes(program.arguments), body));
  return program;
}

}  // namespace tessera
