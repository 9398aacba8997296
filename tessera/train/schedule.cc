#include "tessera/train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tessera/base/strings.h"

namespace tessera {

void ScheduleConfig::fields(ConfigFields& f) {
  f.choice("kind", kind,
           {{"cosine", Kind::kCosine},
            {"linear", Kind::kLinear},
            {"constant", Kind::kConstant},
            {"wsd", Kind::kWsd}})
      .help("The way down from the peak; wsd is constant, then linear over the last decay_steps.");
  f.field("learning_rate", learning_rate).range(0, 100).help("The peak.");
  f.field("final_fraction", final_fraction)
      .range(0, 1)
      .help("The last step's share of the peak (not for constant).");
  f.field("warmup_steps", warmup_steps)
      .at_least(0)
      .help("Steps up to the peak, in a straight line; null: 1 % of the steps.");
  f.field("decay_steps", decay_steps)
      .at_least(0)
      .help("Steps down at the end, for wsd; null: 10 % of the steps.");
  f.field("steps", steps)
      .at_least(1)
      .help("When the final value is reached; null: training.steps.");
}

ScheduleConfig ScheduleConfig::resolved(int64_t run_steps) const {
  auto share = [](int64_t total, int64_t divisor) { return (total + divisor - 1) / divisor; };
  ScheduleConfig full = *this;
  full.steps = steps.value_or(run_steps);
  full.warmup_steps = warmup_steps.value_or(share(*full.steps, 100));
  const int64_t rest = std::max<int64_t>(*full.steps - *full.warmup_steps, 0);
  full.decay_steps = decay_steps.value_or(std::min(share(*full.steps, 10), rest));
  return full;
}

Status ScheduleConfig::validate_resolved() const {
  const int64_t decay = kind == Kind::kWsd ? *decay_steps : 0;
  if (*warmup_steps + decay <= *steps) return absl::OkStatus();
  return invalid_argument("schedule.warmup_steps is ", *warmup_steps,
                          decay > 0 ? str_cat(" and schedule.decay_steps ", decay) : std::string(),
                          ", but there are ", *steps,
                          " steps (schedule.steps, else training.steps)");
}

double learning_rate(const ScheduleConfig& schedule, int64_t step) {
  CHECK_MSG(step >= 1, "steps count from 1");
  const double peak = schedule.learning_rate;
  const double final = peak * schedule.final_fraction;
  const int64_t warmup = *schedule.warmup_steps;
  if (step <=
      warmup) {  // the quotient first: at the last step it is 1, and the product the peak exactly
    return peak * (static_cast<double>(step) / static_cast<double>(warmup));
  }
  if (schedule.kind == ScheduleConfig::Kind::kConstant) return peak;
  const bool wsd = schedule.kind == ScheduleConfig::Kind::kWsd;
  const int64_t begin =
      wsd ? *schedule.steps - *schedule.decay_steps : warmup;  // the last step at the peak
  if (step <= begin) return peak;
  if (step >= *schedule.steps) return final;  // exactly, whatever cos(pi) rounds to
  const double done =
      static_cast<double>(step - begin) / static_cast<double>(*schedule.steps - begin);
  const double left = schedule.kind == ScheduleConfig::Kind::kCosine
                          ? (1 + std::cos(std::numbers::pi * done)) / 2
                          : 1 - done;
  return final + (peak - final) * left;
}

}  // namespace tessera
