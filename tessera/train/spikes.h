#pragma once

#include "tessera/base/tree.h"
#include "tessera/nn/param.h"
#include "tessera/train/optimizer_config.h"

namespace tessera {

/// The last losses and gradient norms, by which a step that lies far above them is recognised:
/// optimizer.skip_step_on_spikes. State, all zeros at first: "losses" and "norms" f32[interval], a
/// ring; "seen" s32[], how many were ever written; "skipped" s32[], steps that made no update.
Tree<ParamSpec> spike_state(const OptimizerConfig& config);

struct SpikeVerdict {
  Value skip;         ///< bool[]
  Tree<Value> state;  ///< with this step in it
};
/// A step is skipped where loss or norm exceeds the ring's mean by config.spike_factor standard
/// deviations, or is not finite; never before half of the ring is filled. What is written into the
/// ring is cut off at that bound, so that one spike does not hide the next, and yet a lasting
/// change becomes the usual; what is not finite is not written.
SpikeVerdict judge_spike(Value loss, Value norm, const Tree<Value>& state,
                         const OptimizerConfig& config);

}  // namespace tessera
