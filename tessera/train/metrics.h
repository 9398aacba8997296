#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/status.h"

namespace tessera {

/// What does not change over a run, and turns a step's time into rates.
struct RunFacts {
  int64_t total_steps = 0;
  int64_t devices = 1;
  double flops_per_step = 0;  ///< Of the model, over all devices.
  std::optional<double>
      peak_flops_per_device;  ///< What a large matrix product reaches here, measured.
};

/// One update, as read back when it was complete.
struct StepMetrics {
  int64_t step = 0;  ///< From 1.
  double loss = 0;
  double learning_rate = 0;
  double grad_norm = 0;          ///< Global, before clipping.
  double seconds = 0;            ///< From the completion of the step before to this one's.
  double data_wait_seconds = 0;  ///< The loop stood still for its batch.
  int64_t tokens = 0;            ///< That the step trained on, over all devices.
  std::vector<std::pair<std::string, double>> extra;  ///< Further scalars by name, such as z_loss.
};

/// One validation, after update `step`.
struct EvalMetrics {
  int64_t step = 0;
  double loss = 0;  ///< Mean negative log-likelihood a token, in nats.
  int64_t tokens = 0;
  double seconds = 0;
  std::vector<std::pair<std::string, double>> extra;  ///< Such as the loss of a unigram model.
};

/// One checkpoint, once it was written. Times are in seconds.
struct SaveMetrics {
  int64_t step = 0;
  bool is_local = false;     ///< In checkpoint.local.directory.
  int64_t bytes = 0;         ///< On disk.
  double ready_seconds = 0;  ///< The loop waited for the state: time of training, not of saving.
  double stall_seconds = 0;  ///< The loop stood still for it: waited for a save before, and copied.
  double copy_seconds = 0;   ///< From devices to host memory.
  double write_seconds = 0;  ///< In the background, like what follows: shards written and synced.
  double commit_seconds = 0;  ///< Manifest, directories, rename.
};

/// What a run's time went into (goodput.h), at its end.
struct GoodputMetrics {
  int64_t step = 0;
  double wall_seconds = 0;                              ///< Since the first start.
  std::vector<std::pair<std::string, double>> seconds;  ///< By kind: "training", "lost", ...
};

/// Rates of a step.
struct Throughput {
  double tokens_per_second = 0;
  double tflops_per_device = 0;
  std::optional<double> peak_share;  ///< Of the measured matrix product; 1 is all of it.
};
Throughput throughput(const StepMetrics& metrics, const RunFacts& facts);

/// Where metrics go. One thread at a time.
class MetricsSink {
 public:
  virtual ~MetricsSink() = default;
  virtual std::string name() const = 0;
  virtual Status step(const StepMetrics& metrics) = 0;
  virtual Status eval(const EvalMetrics& metrics) = 0;
  virtual Status save(const SaveMetrics&) { return absl::OkStatus(); }
  virtual Status goodput(const GoodputMetrics&) { return absl::OkStatus(); }
  /// After the last step: what is buffered is on disk, the progress bar is gone.
  virtual Status finish() { return absl::OkStatus(); }
};

/// Hands metrics to every sink. A sink that fails (a full disk) is reported once and left out from
/// then on: a run does not end for want of its log. One thread at a time.
class MetricsLogger {
 public:
  void add(std::unique_ptr<MetricsSink> sink) { sinks_.push_back(std::move(sink)); }
  void step(const StepMetrics& metrics);
  void eval(const EvalMetrics& metrics);
  void save(const SaveMetrics& metrics);
  void goodput(const GoodputMetrics& metrics);
  void finish();

 private:
  template <typename Call>
  void for_each(Call call);

  std::vector<std::unique_ptr<MetricsSink>> sinks_;
};

}  // namespace tessera
