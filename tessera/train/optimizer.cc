#include "tessera/train/optimizer.h"

#include <regex>

#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/shape.h"

namespace tessera {

Tree<ParamSpec> adamw_state(const Tree<ParamSpec>& params) {
  Tree<ParamSpec> state;
  for (const char* moment : {"mu", "nu"}) {
    for (const auto& [path, spec] : params) {
      ParamSpec zeros = spec;
      zeros.init = Init::zeros();
      CHECK(state.add(str_cat(moment, ".", path), std::move(zeros)).ok());
    }
  }
  return state;
}

AdamwResult adamw(const Tree<Value>& params, const Tree<Value>& grads, const Tree<Value>& state,
                  const AdamwStep& step, const OptimizerConfig& config) {
  const std::regex no_decay(config.no_decay);
  const bool decays_all = config.no_decay.empty();
  // 1 - b^count: what the moments, which began at zero, have seen of the whole weight.
  const Value mu_seen = 1.0 - pow(scalar_like(step.count, config.b1), step.count);
  const Value nu_seen = 1.0 - pow(scalar_like(step.count, config.b2), step.count);
  AdamwResult result;
  Tree<Value> mus, nus;
  for (const auto& [path, param] : params) {
    const Value grad = convert(grads.at(path), DType::kF32);
    const Value mu = state.at(str_cat("mu.", path)) * config.b1 + grad * (1 - config.b1);
    const Value nu = state.at(str_cat("nu.", path)) * config.b2 + grad * grad * (1 - config.b2);
    Value change = (mu / mu_seen) / (sqrt(nu / nu_seen) + config.epsilon);
    const bool decays = decays_all || !std::regex_search(path, no_decay);
    if (decays && config.weight_decay > 0) change = change + param * config.weight_decay;
    CHECK(result.params.add(path, param - step.learning_rate * change).ok());
    CHECK(mus.add(path, mu).ok());
    CHECK(nus.add(path, nu).ok());
  }
  CHECK(result.state.append("mu", std::move(mus)).ok());
  CHECK(result.state.append("nu", std::move(nus)).ok());
  return result;
}

GradientNorms gradient_norms(const Tree<Value>& grads) {
  std::vector<Value> squares;
  for (const auto& [path, grad] : grads) {
    const Value grad_f32 = convert(grad, DType::kF32);
    squares.push_back(sum(grad_f32 * grad_f32));
  }
  const Value each = stack(squares);
  return {.global = sqrt(sum(each)), .each = sqrt(each)};
}

Tree<Value> clip_by_global_norm(const Tree<Value>& grads, Value global_norm, double clip) {
  const Value factor = minimum(clip / maximum(global_norm, 1e-12), 1.0);
  return grads.map(
      [&](const std::string&, Value grad) { return grad * convert(factor, grad.dtype()); });
}

}  // namespace tessera
