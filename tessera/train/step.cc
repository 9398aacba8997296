#include "tessera/train/step.h"

#include <optional>

#include "tessera/nn/loss.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise.h"
#include "tessera/train/batch_gradients.h"
#include "tessera/train/fused_adamw.h"
#include "tessera/train/optimizer.h"
#include "tessera/train/spikes.h"

namespace tessera {
namespace {

const std::vector<std::string> kBatchNames = {"activation_batch", "activation_length"};

void append(std::vector<Value>& all, const Tree<Value>& tree) {
  for (const auto& [path, value] : tree) all.push_back(value);
}

void append(std::vector<ArgumentSpec>& all, std::vector<ArgumentSpec> more) {
  for (ArgumentSpec& spec : more) all.push_back(std::move(spec));
}

// All parameters, those that were trained in their new values.
Tree<Value> with_new(const Tree<Value>& params, const Tree<Value>& trained) {
  return params.map([&](const std::string& path, Value old) {
    const Value* next = trained.find(path);
    return next ? *next : old;
  });
}

// `yes` has all paths of `no`; its values where `predicate` holds, else those of `no`.
Tree<Value> chosen(Value predicate, const Tree<Value>& yes, const Tree<Value>& no) {
  return no.map(
      [&](const std::string& path, Value value) { return select(predicate, yes.at(path), value); });
}

}  // namespace

std::vector<ArgumentSpec> state_spec(const LanguageModel& model, const RunConfig& config) {
  const Tree<ParamSpec> params = model.params();
  std::vector<ArgumentSpec> state = argument_specs("params", params);
  append(state,
         argument_specs("optimizer", Optimizer(config.resolved_optimizer(), params).state()));
  if (config.optimizer.skip_step_on_spikes)
    append(state, argument_specs("spikes", spike_state(config.optimizer)));
  state.push_back(scalar_spec("step", DType::kS32));
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

Result<TracedProgram> trace_init(const LanguageModel& model, const RunConfig& config) {
  TracedProgram program;
  program.results = state_spec(model, config);
  RETURN_IF_ERROR(trace_into(program, [&](Graph& graph, const Tree<Value>&) {
    const Tree<ParamSpec> params = model.params();
    const uint64_t seed = config.training.seed;
    std::vector<Value> state = values_of(initial_params(graph, params, seed));
    append(state,
           initial_params(graph, Optimizer(config.resolved_optimizer(), params).state(), seed));
    if (config.optimizer.skip_step_on_spikes)
      append(state, initial_params(graph, spike_state(config.optimizer), seed));
    state.push_back(zeros(graph, Shape{DType::kS32, {}}));
    return state;
  }));
  return program;
}

Result<TracedProgram> trace_train_step(const LanguageModel& model, const RunConfig& config,
                                       const Layout* layout) {
  const Optimizer optimizer(config.resolved_optimizer(), model.params());
  TracedProgram program;
  program.arguments = state_spec(model, config);
  program.results = program.arguments;
  program.donate = {"params", "step"};
  if (!optimizer.state().empty()) program.donate.push_back("optimizer");
  const bool skips = config.optimizer.skip_step_on_spikes;
  if (skips) program.donate.push_back("spikes");
  append(program.arguments, batch_spec(config.training));
  program.arguments.push_back(scalar_spec("learning_rate"));
  for (const char* metric : {"loss", "cross_entropy", "weight", "gradient_norm"}) {
    program.results.push_back(scalar_spec(str_cat("metrics.", metric)));
  }
  if (skips) program.results.push_back(scalar_spec("metrics.step_skipped"));
  const auto trained = static_cast<int64_t>(optimizer.trainable().size());
  program.results.push_back({"metrics.gradient_norms", Shape{DType::kF32, {trained}}, {""}});

  const ProgramBody body = [&](Graph&, const Tree<Value>& arguments) {
    const Tree<Value> params = arguments.subtree("params");
    const Value step = arguments.at("step") + 1;
    BatchGradients batch =
        batch_gradients(model, params, optimizer.trainable(), arguments.subtree("batch"), step,
                        {config.training, layout});
    const Kernels kernels = kernel_use(layout);
    const bool fused = can_fuse_adamw(config.resolved_optimizer(), kernels);
    const GradientNorms norms =
        gradient_norms(batch.grads, fused ? fused_sums_of_squares(batch.grads, *kernels) : Value());
    const double clip = config.optimizer.clip_norm;
    Value grad_factor;
    if (clip > 0 && fused) {
      grad_factor = clip_factor(norms.global, clip);
    } else if (clip > 0) {
      batch.grads = clip_by_global_norm(batch.grads, norms.global, clip);
    }
    const Tree<Value> old_state = arguments.subtree("optimizer");
    Value updates = step;  // that were made, this one with them: what bias corrections count
    std::optional<SpikeVerdict> verdict;
    if (skips) {
      verdict =
          judge_spike(batch.loss, norms.global, arguments.subtree("spikes"), config.optimizer);
      updates = step - arguments.at("spikes.skipped");
    }
    Optimizer::Next next = optimizer.update(params, batch.grads, old_state,
                                            {.count = convert(updates, DType::kF32),
                                             .learning_rate = arguments.at("learning_rate"),
                                             .grad_factor = grad_factor,
                                             .kernels = kernels});
    if (verdict) {
      next.params = chosen(verdict->skip, params, next.params);
      next.state = chosen(verdict->skip, old_state, next.state);
    }
    std::vector<Value> results = values_of(with_new(params, next.params));
    append(results, next.state);
    if (verdict) append(results, verdict->state);
    for (Value result : {step, batch.loss, batch.cross_entropy, batch.weight, norms.global})
      results.push_back(result);
    if (verdict) results.push_back(convert(verdict->skip, DType::kF32));
    results.push_back(norms.each);
    const auto add_metric = [&](const std::string& name, Value value) {
      program.results.push_back(scalar_spec("metrics." + name));
      results.push_back(value);
    };
    if (batch.aux_loss.defined()) add_metric("aux_loss", batch.aux_loss);
    const std::vector<std::string> names = model.metric_names();
    CHECK(batch.metrics.empty() || batch.metrics.size() == names.size());
    for (size_t i = 0; i < batch.metrics.size(); ++i) add_metric(names[i], batch.metrics[i]);
    return results;
  };
  RETURN_IF_ERROR(trace_into(program, body));
  return program;
}

Result<TracedProgram> trace_eval_step(const LanguageModel& model, const TrainingConfig& training,
                                      const Layout* layout) {
  TracedProgram program;
  program.arguments = argument_specs("params", model.params());
  append(program.arguments, batch_spec(training));
  program.results = {scalar_spec("cross_entropy"), scalar_spec("weight")};
  RETURN_IF_ERROR(trace_into(program, [&](Graph&, const Tree<Value>& arguments) {
    const LossSums sums = batch_loss_sums(model, arguments.subtree("params"),
                                          arguments.subtree("batch"), {training, layout});
    return std::vector<Value>{sums.cross_entropy, sums.weight};
  }));
  return program;
}

}  // namespace tessera
