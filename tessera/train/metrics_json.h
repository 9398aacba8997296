#pragma once

#include <memory>
#include <string>

#include "tessera/base/clock.h"
#include "tessera/base/filesystem.h"
#include "tessera/train/metrics.h"

namespace tessera {

/// Opens the JSON-lines file at `path`, a line for each step, validation and checkpoint.
/// `resume_step` is the last update that the run goes on from, 0 for a new run: lines of later
/// updates, and what a crash left of a line, are cut off first, so that every step stands there
/// once. A value that is not finite is written as null. `files` and `clock` must outlive the sink.
///
///     {"step":7,"time":1700000000.5,"loss":4.1,"learning_rate":0.0003,"grad_norm":1.2,"step_ms":512.0,
///      "tokens":4096,"tokens_per_second":8000.0,"tflops_per_device":0.1,"gemm_peak_share":0.41}
///     {"step":100,"time":1700000050.5,"eval_loss":3.9,"eval_perplexity":49.4,"eval_tokens":16384,"eval_seconds":1.2}
///     {"step":100,"time":1700000051.0,"save_bytes":6291456,"save_ready_seconds":0.4,"save_stall_seconds":0.01,
///      "save_copy_seconds":0.01,"save_write_seconds":0.2,"save_commit_seconds":0.05}
Result<std::unique_ptr<MetricsSink>> make_json_sink(const std::string& path, int64_t resume_step,
                                                    const RunFacts& facts, FileSystem& files,
                                                    const Clock& clock);

}  // namespace tessera
