#pragma once

#include <vector>

#include "tessera/models/language_model.h"
#include "tessera/train/config.h"
#include "tessera/train/traced_program.h"

namespace tessera {

struct Layout;

/// What a run trains: "params.*", "optimizer.*" (of the parameters that are trained) and "step"
/// (s32[], the number of steps made); with skip_step_on_spikes also "spikes.*".
std::vector<ArgumentSpec> state_spec(const LanguageModel& model, const RunConfig& config);
/// "batch.tokens", "batch.targets", "batch.mask", and, unless attention crosses documents,
/// "batch.segment_ids" and "batch.positions": [batch, length].
std::vector<ArgumentSpec> batch_spec(const TrainingConfig& training);

/// () → state, by the run's seed.
Result<TracedProgram> trace_init(const LanguageModel& model, const RunConfig& config);

// The programs below need to know the layout that they will be compiled for where keys and values
// go round a ring, where a sequence is balanced over devices, or where layers form a pipeline;
// null: no such thing happens, whatever the config says.

/// (state, batch, "learning_rate" f32[]) → (state, metrics), the old state donated. Metrics, all
/// f32:
///   "metrics.loss"            [], nats a token, with z-loss and the model's own losses
///   "metrics.cross_entropy"   [], without
///   "metrics.weight"          [], tokens that counted
///   "metrics.gradient_norm"   [], before clipping
///   "metrics.step_skipped"    [], 1 where no update was made, with skip_step_on_spikes
///   "metrics.gradient_norms"  [n], one for each parameter that is trained, in the state's order
///   "metrics.aux_loss"        [], the model's own losses, where it has any
///   "metrics.<name>"          [], of the model's metric_names()
Result<TracedProgram> trace_train_step(const LanguageModel& model, const RunConfig& config,
                                       const Layout* layout = nullptr);

/// ("params.*", batch) → "cross_entropy" (sum in nats), "weight", both f32[].
Result<TracedProgram> trace_eval_step(const LanguageModel& model, const TrainingConfig& training,
                                      const Layout* layout = nullptr);

}  // namespace tessera
