#include "tessera/train/metrics_json.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "tessera/base/json.h"

namespace tessera {
namespace {

// Whether a line is one of ours, of an update up to `resume_step`.
bool stays(std::string_view text, int64_t resume_step) {
  const Json line = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return line.is_object() && line.contains("step") && line["step"].is_number_integer() &&
         line["step"].get<int64_t>() <= resume_step;
}

// The whole lines of updates up to `resume_step`; a damaged one costs no other.
std::string lines_to_keep(std::string_view text, int64_t resume_step) {
  std::string kept;
  while (true) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return kept;
    if (stays(text.substr(0, end), resume_step)) kept += text.substr(0, end + 1);
    text.remove_prefix(end + 1);
  }
}

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
  if (files.exists(path)) {
    ASSIGN_OR_RETURN(const std::string text, files.read_file(path));
    const std::string kept = lines_to_keep(text, resume_step);
    if (kept.size() < text.size()) RETURN_IF_ERROR(files.write_file_atomic(path, kept));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, files.append_file(path));
  return std::make_unique<JsonSink>(path, std::move(file), facts, clock);
}

}  // namespace tessera
