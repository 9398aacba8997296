#include "tessera/train/spikes.h"

#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/reduce.h"

namespace tessera {
namespace {

// mean + factor * standard deviation of the ring's first `filled` entries.
Value bound_of(Value ring, Value filled, double factor) {
  const Value index = iota(ring.graph(), Shape{DType::kS32, ring.dims()}, 0);
  const Value counts = less(index, filled);
  const Value number = maximum(convert(filled, DType::kF32), 1.0);
  const Value mean = sum(select(counts, ring, 0.0)) / number;
  const Value apart = select(counts, ring - mean, 0.0);
  return mean + sqrt(sum(apart * apart) / number) * factor;
}

Value write(Value ring, Value place, Value value, Value is_written) {
  const Value index = iota(ring.graph(), Shape{DType::kS32, ring.dims()}, 0);
  return select(logical_and(equal(index, place), is_written), value, ring);
}

}  // namespace

Tree<ParamSpec> spike_state(const OptimizerConfig& config) {
  Tree<ParamSpec> state;
  for (const char* ring : {"losses", "norms"})
    CHECK(state.add(ring, {{config.spike_interval}, {""}, Init::zeros()}).ok());
  for (const char* count : {"seen", "skipped"})
    CHECK(state.add(count, {{}, {}, Init::zeros(), DType::kS32}).ok());
  return state;
}

SpikeVerdict judge_spike(Value loss, Value norm, const Tree<Value>& state,
                         const OptimizerConfig& config) {
  const auto interval = static_cast<double>(config.spike_interval);
  const Value losses = state.at("losses"), norms = state.at("norms"), seen = state.at("seen");
  const Value filled = minimum(seen, interval);
  const Value active = greater_equal(seen, static_cast<double>((config.spike_interval + 1) / 2));
  const Value loss_bound = bound_of(losses, filled, config.spike_factor);
  const Value norm_bound = bound_of(norms, filled, config.spike_factor);
  // What is not a number is not below the bound either.
  const Value usual = logical_and(less_equal(loss, loss_bound), less_equal(norm, norm_bound));
  const Value finite = logical_and(is_finite(loss), is_finite(norm));
  SpikeVerdict verdict{.skip = logical_and(active, logical_not(usual)), .state = {}};
  const Value place = remainder(seen, interval);
  const auto kept = [&](Value value, Value bound) {
    return select(active, minimum(value, bound), value);
  };
  const Value one = convert(finite, DType::kS32);
  CHECK(verdict.state.add("losses", write(losses, place, kept(loss, loss_bound), finite)).ok());
  CHECK(verdict.state.add("norms", write(norms, place, kept(norm, norm_bound), finite)).ok());
  CHECK(verdict.state.add("seen", seen + one).ok());
  CHECK(
      verdict.state.add("skipped", state.at("skipped") + convert(verdict.skip, DType::kS32)).ok());
  return verdict;
}

}  // namespace tessera
