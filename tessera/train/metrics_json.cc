#include "tessera/train/metrics_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "tessera/base/json.h"
#include "tessera/train/step_lines.h"

namespace tessera {
namespace {

class JsonSink : public MetricsSink {
 public:
  JsonSink(std::string path, std::unique_ptr<WritableFile> file, const RunFacts& facts,
           const Clock& clock)
      : path_(std::move(path)), file_(std::move(file)), facts_(facts), clock_(clock) {}

  std::string name() const override { return path_; }

  Status step(const StepMetrics& metrics) override {
    const Throughput rates = throughput(metrics, facts_);
    Json line = begin(metrics.step);
    line["loss"] = metrics.loss;
    line["learning_rate"] = metrics.learning_rate;
    line["grad_norm"] = metrics.grad_norm;
    line["step_ms"] = metrics.seconds * 1e3;
    line["data_wait_ms"] = metrics.data_wait_seconds * 1e3;
    line["tokens"] = metrics.tokens;
    line["tokens_per_second"] = rates.tokens_per_second;
    line["tflops_per_device"] = rates.tflops_per_device;
    if (rates.peak_share) line["gemm_peak_share"] = *rates.peak_share;
    for (const auto& [name, value] : metrics.extra) line[name] = value;
    return write(line);
  }

  Status eval(const EvalMetrics& metrics) override {
    Json line = begin(metrics.step);
    line["eval_loss"] = metrics.loss;
    line["eval_perplexity"] = std::exp(metrics.loss);
    line["eval_tokens"] = metrics.tokens;
    line["eval_seconds"] = metrics.seconds;
    for (const auto& [name, value] : metrics.extra) line["eval_" + name] = value;
    return write(line);
  }

  Status save(const SaveMetrics& metrics) override {
    Json line = begin(metrics.step);
    line["save_tier"] = metrics.is_local ? "local" : "durable";
    line["save_bytes"] = metrics.bytes;
    line["save_ready_seconds"] = metrics.ready_seconds;
    line["save_stall_seconds"] = metrics.stall_seconds;
    line["save_copy_seconds"] = metrics.copy_seconds;
    line["save_write_seconds"] = metrics.write_seconds;
    line["save_commit_seconds"] = metrics.commit_seconds;
    return write(line);
  }

  Status goodput(const GoodputMetrics& metrics) override {
    Json line = begin(metrics.step);
    line["wall_seconds"] = metrics.wall_seconds;
    for (const auto& [kind, seconds] : metrics.seconds) line[kind + "_seconds"] = seconds;
    return write(line);
  }

  Status finish() override {
    RETURN_IF_ERROR(file_->sync());
    return file_->close();
  }

 private:
  Json begin(int64_t step) const {
    return Json{{"step", step},
                {"time", static_cast<double>(absl::ToUnixMicros(clock_.now())) / 1e6}};
  }
  Status write(const Json& line) { return file_->append(line.dump() + "\n"); }

  const std::string path_;
  std::unique_ptr<WritableFile> file_;
  const RunFacts facts_;
  const Clock& clock_;
};

}  // namespace

Result<std::unique_ptr<MetricsSink>> make_json_sink(const std::string& path, int64_t resume_step,
                                                    const RunFacts& facts, FileSystem& files,
                                                    const Clock& clock) {
  RETURN_IF_ERROR(files.create_dirs(parent_path(path)));
  RETURN_IF_ERROR(keep_lines(files, path, resume_step));
  ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, files.append_file(path));
  return std::make_unique<JsonSink>(path, std::move(file), facts, clock);
}

}  // namespace tessera
