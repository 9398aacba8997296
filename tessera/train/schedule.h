#pragma once

#include <cstdint>
#include <optional>

#include "tessera/base/config.h"

namespace tessera {

/// How the learning rate goes over a run. Steps count from 1: step 1 is the first update.
///
///     warmup    steps 1 … warmup_steps             learning_rate · step / warmup_steps: never 0,
///     the last one the peak constant  then                               learning_rate linear
///     then, to the last step             a straight line to learning_rate · final_fraction cosine
///     then, to the last step             half a cosine to the same (Loshchilov and Hutter 2016)
///     wsd       learning_rate, and over the last decay_steps a straight line to the same (Hu and
///     others 2024, MiniCPM)
///
/// The last step has the final value exactly; later steps keep it.
struct ScheduleConfig {
  enum class Kind { kCosine, kLinear, kConstant, kWsd };

  Kind kind = Kind::kCosine;
  double learning_rate = 3e-4;  ///< the peak
  double final_fraction = 0.1;
  std::optional<int64_t> warmup_steps;  ///< a hundredth of the steps, rounded up, unless given
  std::optional<int64_t> decay_steps;  ///< wsd only: a tenth of the steps, rounded up, unless given
  std::optional<int64_t> steps;        ///< training.steps unless given

  void fields(ConfigFields& f);
  /// `run_steps` is how many steps the run has. Fills what was left open.
  ScheduleConfig resolved(int64_t run_steps) const;
  /// For a resolved one: that its parts fit into its steps.
  Status validate_resolved() const;
};

/// The learning rate of update `step` (from 1) of a resolved schedule. Pure: a resumed run gets the
/// same bits.
double learning_rate(const ScheduleConfig& schedule, int64_t step);

}  // namespace tessera
