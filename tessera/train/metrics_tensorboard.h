#pragma once

#include <memory>
#include <string>

#include "tessera/base/clock.h"
#include "tessera/base/filesystem.h"
#include "tessera/train/metrics.h"

namespace tessera {

/// Starts a new event file in `folder`, which TensorBoard reads together with those of earlier
/// starts of the run. `resume_step` is the last update that the run goes on from, 0 for a new run:
/// readers drop what earlier files hold of later ones. `files` and `clock` must outlive the sink.
/// Tags:
///
///     learning/loss  learning/learning_rate  learning/grad_norm  learning/<extra>
///     perf/step_time_seconds  perf/tokens_per_second  perf/tflops_per_device  perf/gemm_peak_share
///     eval/loss  eval/perplexity  eval/<extra>
///     checkpoint/{stall,copy,write,commit}_seconds  checkpoint/bytes
Result<std::unique_ptr<MetricsSink>> make_tensorboard_sink(const std::string& folder,
                                                           int64_t resume_step,
                                                           const RunFacts& facts, FileSystem& files,
                                                           const Clock& clock);

}  // namespace tessera
