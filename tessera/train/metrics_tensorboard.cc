#include "tessera/train/metrics_tensorboard.h"

#include <unistd.h>

#include <cmath>

#include "tessera/base/strings.h"
#include "tessera/train/tensorboard_event.h"

namespace tessera {
namespace {

double unix_seconds(const Clock& clock) {
  return static_cast<double>(absl::ToUnixMicros(clock.now())) / 1e6;
}

class TensorBoardSink : public MetricsSink {
 public:
  TensorBoardSink(std::string path, std::unique_ptr<WritableFile> file, const RunFacts& facts,
                  const Clock& clock)
      : path_(std::move(path)), file_(std::move(file)), facts_(facts), clock_(clock) {}

  std::string name() const override { return path_; }

  Status start(int64_t resume_step) {
    const double now = unix_seconds(clock_);
    return file_->append(tfrecord(version_event(now)) +
                         tfrecord(start_event(now, resume_step + 1)));
  }

  Status step(const StepMetrics& metrics) override {
    const Throughput rates = throughput(metrics, facts_);
    ScalarEvent event(unix_seconds(clock_), metrics.step);
    event.add("learning/loss", metrics.loss);
    event.add("learning/learning_rate", metrics.learning_rate);
    event.add("learning/grad_norm", metrics.grad_norm);
    event.add("data/wait_ms", metrics.data_wait_seconds * 1e3);
    for (const auto& [name, value] : metrics.extra) event.add(str_cat("learning/", name), value);
    event.add("perf/step_time_seconds", metrics.seconds);
    event.add("perf/tokens_per_second", rates.tokens_per_second);
    event.add("perf/tflops_per_device", rates.tflops_per_device);
    if (rates.peak_share) event.add("perf/gemm_peak_share", *rates.peak_share);
    return file_->append(tfrecord(event.finish()));
  }

  Status eval(const EvalMetrics& metrics) override {
    ScalarEvent event(unix_seconds(clock_), metrics.step);
    event.add("eval/loss", metrics.loss);
    event.add("eval/perplexity", std::exp(metrics.loss));
    for (const auto& [name, value] : metrics.extra) event.add(str_cat("eval/", name), value);
    return file_->append(tfrecord(event.finish()));
  }

  Status save(const SaveMetrics& metrics) override {
    ScalarEvent event(unix_seconds(clock_), metrics.step);
    const std::string tier = metrics.is_local ? "local_checkpoint/" : "checkpoint/";
    event.add(tier + "stall_seconds", metrics.stall_seconds);
    event.add(tier + "copy_seconds", metrics.copy_seconds);
    event.add(tier + "write_seconds", metrics.write_seconds);
    event.add(tier + "commit_seconds", metrics.commit_seconds);
    event.add(tier + "bytes", static_cast<double>(metrics.bytes));
    return file_->append(tfrecord(event.finish()));
  }

  Status finish() override {
    RETURN_IF_ERROR(file_->sync());
    return file_->close();
  }

 private:
  const std::string path_;
  std::unique_ptr<WritableFile> file_;
  const RunFacts facts_;
  const Clock& clock_;
};

// TensorBoard reads the files of a folder in the order of their names, so the time comes first, at
// a fixed width.
std::string new_file_name(const std::string& folder, FileSystem& files, const Clock& clock) {
  char host[256] = "localhost";
  gethostname(host, sizeof host - 1);
  const std::string stem = str_cat("events.out.tfevents.", absl::ToUnixSeconds(clock.now()));
  for (int i = 0;; ++i) {
    const std::string path =
        join_path(folder, str_cat(stem, ".", i, ".", static_cast<const char*>(host)));
    if (!files.exists(path)) return path;
  }
}

}  // namespace

Result<std::unique_ptr<MetricsSink>> make_tensorboard_sink(const std::string& folder,
                                                           int64_t resume_step,
                                                           const RunFacts& facts, FileSystem& files,
                                                           const Clock& clock) {
  RETURN_IF_ERROR(files.create_dirs(folder));
  const std::string path = new_file_name(folder, files, clock);
  ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, files.create_file(path));
  auto sink = std::make_unique<TensorBoardSink>(path, std::move(file), facts, clock);
  RETURN_IF_ERROR(sink->start(resume_step));
  return sink;
}

}  // namespace tessera
