#include "tessera/train/optimizer.h"

#include <algorithm>
#include <regex>

#include "tessera/ops/elementwise.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/shape.h"

namespace tessera {
namespace {

Tree<ParamSpec> matching(const Tree<ParamSpec>& params, const std::string& expression) {
  if (expression.empty()) return params;
  const std::regex regex(expression);
  Tree<ParamSpec> found;
  for (const auto& [path, spec] : params) {
    if (std::regex_search(path, regex)) CHECK(found.add(path, spec).ok());
  }
  return found;
}

std::unique_ptr<UpdateRule> make_rule(const OptimizerConfig& config) {
  switch (config.kind) {
    case OptimizerKind::kAdamw:
      return adamw_rule(config);
    case OptimizerKind::kLion:
      return lion_rule(config);
    case OptimizerKind::kSgd:
      return sgd_rule(config);
    case OptimizerKind::kAdafactor:
      return adafactor_rule(config);
    case OptimizerKind::kMuon:
      return muon_rule(config);
  }
  return nullptr;
}

// Slots of all parameters, those of one name together: the order of the state.
std::vector<std::pair<std::string, ParamSpec>> state_leaves(const UpdateRule& rule,
                                                            const Tree<ParamSpec>& params) {
  std::vector<std::string> names;
  std::vector<std::pair<std::string, std::pair<std::string, ParamSpec>>> all;
  for (const auto& [path, spec] : params) {
    for (Slot& slot : rule.slots(path, spec)) {
      if (std::find(names.begin(), names.end(), slot.name) == names.end())
        names.push_back(slot.name);
      all.push_back({slot.name, {str_cat(slot.name, ".", path), std::move(slot.spec)}});
    }
  }
  std::vector<std::pair<std::string, ParamSpec>> leaves;
  for (const std::string& name : names) {
    for (const auto& [of, leaf] : all) {
      if (of == name) leaves.push_back(leaf);
    }
  }
  return leaves;
}

}  // namespace

Slot moment_slot(std::string name, const ParamSpec& spec, const OptimizerConfig& config) {
  Slot slot{std::move(name), spec};
  slot.spec.init = Init::zeros();
  slot.spec.dtype = config.moment_dtype;
  return slot;
}

Value decayed_update(const ParamStep& step, Value change) {
  if (step.weight_decay > 0) change = change + step.param * step.weight_decay;
  return step.param - step.learning_rate * change;
}

Optimizer::Optimizer(const OptimizerConfig& config, const Tree<ParamSpec>& params)
    : config_(config), trainable_(matching(params, config.trainable)), rule_(make_rule(config)) {}

Tree<ParamSpec> Optimizer::state() const {
  Tree<ParamSpec> state;
  for (auto& [path, spec] : state_leaves(*rule_, trainable_))
    CHECK(state.add(path, std::move(spec)).ok());
  return state;
}

Optimizer::Next Optimizer::update(const Tree<Value>& params, const Tree<Value>& grads,
                                  const Tree<Value>& state, const Step& step) const {
  const std::regex no_decay(config_.no_decay);
  Next next;
  Tree<Value> slots;
  for (const auto& [path, spec] : trainable_) {
    const Value raw_grad = grads.at(path);
    Value grad = convert(raw_grad, DType::kF32);
    if (step.grad_factor.defined()) grad = grad * step.grad_factor;
    const bool decays = config_.no_decay.empty() || !std::regex_search(path, no_decay);
    ParamStep one{.path = path,
                  .spec = spec,
                  .param = params.at(path),
                  .grad = grad,
                  .slots = {},
                  .count = step.count,
                  .learning_rate = step.learning_rate,
                  .weight_decay = decays ? config_.weight_decay : 0,
                  .raw_grad = raw_grad,
                  .grad_factor = step.grad_factor,
                  .kernels = step.kernels};
    const std::vector<Slot> kept = rule_->slots(path, spec);
    for (const Slot& slot : kept)
      one.slots.push_back(convert(state.at(str_cat(slot.name, ".", path)), DType::kF32));
    const ParamNext result = rule_->update(one);
    CHECK(result.slots.size() == kept.size());
    CHECK(next.params.add(path, result.param).ok());
    for (size_t i = 0; i < kept.size(); ++i) {
      const Value stored = convert(result.slots[i], kept[i].spec.dtype);
      CHECK(slots.add(str_cat(kept[i].name, ".", path), stored).ok());
    }
  }
  next.state = state.map([&](const std::string& path, Value) { return slots.at(path); });
  return next;
}

Status check_trainable(const OptimizerConfig& config, const Tree<ParamSpec>& params) {
  if (!matching(params, config.trainable).empty()) return absl::OkStatus();
  return invalid_argument("optimizer.trainable is \"", config.trainable,
                          "\", which no parameter's name matches: there are such as ",
                          params[0].first, " and ", params[params.size() - 1].first);
}

GradientNorms gradient_norms(const Tree<Value>& grads, Value squares) {
  if (!squares.defined()) {
    std::vector<Value> each;
    for (const auto& [path, grad] : grads) {
      const Value grad_f32 = convert(grad, DType::kF32);
      each.push_back(sum(grad_f32 * grad_f32));
    }
    squares = stack(each);
  }
  return {.global = sqrt(sum(squares)), .each = sqrt(squares)};
}

Value clip_factor(Value global_norm, double clip) {
  return minimum(clip / maximum(global_norm, 1e-12), 1.0);
}

Tree<Value> clip_by_global_norm(const Tree<Value>& grads, Value global_norm, double clip) {
  const Value factor = clip_factor(global_norm, clip);
  return grads.map(
      [&](const std::string&, Value grad) { return grad * convert(factor, grad.dtype()); });
}

}  // namespace tessera
