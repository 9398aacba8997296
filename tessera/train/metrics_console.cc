#include "tessera/train/metrics_console.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "tessera/base/format.h"
#include "tessera/base/strings.h"

namespace tessera {
namespace {

std::string extras(const std::vector<std::pair<std::string, double>>& extra) {
  std::string text;
  for (const auto& [name, value] : extra) absl::StrAppendFormat(&text, "  %s %.4g", name, value);
  return text;
}

class ConsoleSink : public MetricsSink {
 public:
  ConsoleSink(const RunFacts& facts, const ConsoleOptions& options, LogSink& log,
              const Clock& clock)
      : facts_(facts), options_(options), log_(log), progress_(facts.total_steps, clock) {}
  ~ConsoleSink() override { log_.set_row(""); }

  std::string name() const override { return "the console"; }

  Status step(const StepMetrics& metrics) override {
    progress_.done(metrics.step);
    const bool shown =
        first_ || metrics.step % options_.interval == 0 || metrics.step == facts_.total_steps;
    first_ = false;
    if (shown) log_.log(LogLevel::kInfo, step_line(metrics, facts_));
    if (options_.row_width) log_.set_row(row(metrics));
    return absl::OkStatus();
  }

  Status eval(const EvalMetrics& metrics) override {
    log_.log(LogLevel::kInfo, eval_line(metrics, facts_));
    return absl::OkStatus();
  }

  Status finish() override {
    log_.set_row("");
    return absl::OkStatus();
  }

 private:
  std::string row(const StepMetrics& metrics) const {
    const std::string rates =
        absl::StrFormat("  loss %.4f  %s tokens/s", metrics.loss,
                        count_text(throughput(metrics, facts_).tokens_per_second));
    const std::string text = progress_.text(std::clamp(*options_.row_width / 4, 8, 40)) + rates;
    // A row that wraps could not be redrawn in place.
    return text.substr(0, static_cast<size_t>(std::max(*options_.row_width - 1, 0)));
  }

  const RunFacts facts_;
  const ConsoleOptions options_;
  LogSink& log_;
  Progress progress_;
  bool first_ = true;
};

}  // namespace

std::unique_ptr<MetricsSink> make_console_sink(const RunFacts& facts, const ConsoleOptions& options,
                                               LogSink& log, const Clock& clock) {
  return std::make_unique<ConsoleSink>(facts, options, log, clock);
}

std::string step_line(const StepMetrics& metrics, const RunFacts& facts) {
  const Throughput rates = throughput(metrics, facts);
  std::string line = absl::StrFormat(
      "step %d/%d  loss %.4f  lr %.2e  grad norm %.3f  %.1f ms  %s tokens/s  %.4g TFLOP/s a device",
      metrics.step, facts.total_steps, metrics.loss, metrics.learning_rate, metrics.grad_norm,
      metrics.seconds * 1e3, count_text(rates.tokens_per_second), rates.tflops_per_device);
  if (rates.peak_share)
    absl::StrAppendFormat(&line, " (%.1f %% of GEMM peak)", *rates.peak_share * 100);
  return line + extras(metrics.extra);
}

std::string eval_line(const EvalMetrics& metrics, const RunFacts& facts) {
  return absl::StrFormat("step %d/%d  validation loss %.4f  perplexity %.2f  %s tokens  %.1f s",
                         metrics.step, facts.total_steps, metrics.loss, std::exp(metrics.loss),
                         count_text(static_cast<double>(metrics.tokens)), metrics.seconds) +
         extras(metrics.extra);
}

}  // namespace tessera
