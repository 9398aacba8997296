#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tessera/models/language_model.h"
#include "tessera/train/config.h"

namespace tessera {

struct Layout;

/// A named argument or result of a compiled program of training.
struct ArgumentSpec {
  std::string path;
  Shape shape;
  std::vector<std::string> names;  ///< of the dimensions, for the axis rules
};

/// A traced program with what its parameters and outputs are called and how they are laid out.
struct TracedProgram {
  std::shared_ptr<Graph> graph;
  std::vector<ArgumentSpec> arguments;
  std::vector<ArgumentSpec> results;
  std::vector<std::string>
      donate;  ///< branches of arguments whose buffers the results of the same paths take over
};

/// What a run trains: "params.*", "optimizer.*" and "step" (s32[], the number of updates made).
std::vector<ArgumentSpec> state_spec(const LanguageModel& model);
/// "batch.tokens", "batch.targets", "batch.mask", and, unless attention crosses documents,
/// "batch.segment_ids" and "batch.positions": [batch, length].
std::vector<ArgumentSpec> batch_spec(const TrainingConfig& training);

/// () → state, by the run's seed.
Result<TracedProgram> trace_init(const LanguageModel& model, const TrainingConfig& training);

// The programs below need to know the layout that they will be compiled for where keys and values
// go round a ring, where a sequence is balanced over devices, or where layers form a pipeline;
// null: no such thing happens, whatever the config says.

/// (state, batch, "learning_rate" f32[]) → (state, metrics), the old state donated. Metrics, all
/// f32:
///   "metrics.loss"            [], nats a token, with z-loss
///   "metrics.cross_entropy"   [], without
///   "metrics.weight"          [], tokens that counted
///   "metrics.gradient_norm"   [], before clipping
///   "metrics.gradient_norms"  [n], one for each parameter, in the order of the state's "params.*"
Result<TracedProgram> trace_train_step(const LanguageModel& model, const RunConfig& config,
                                       const Layout* layout = nullptr);

/// ("params.*", batch) → "cross_entropy" (sum in nats), "weight", both f32[].
Result<TracedProgram> trace_eval_step(const LanguageModel& model, const TrainingConfig& training,
                                      const Layout* layout = nullptr);

}  // namespace tessera
