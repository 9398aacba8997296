#include "tessera/train/metrics.h"

#include "tessera/base/log.h"

namespace tessera {

Throughput throughput(const StepMetrics& metrics, const RunFacts& facts) {
  Throughput rates;
  if (metrics.seconds <= 0) return rates;
  const double flops_per_device =
      facts.flops_per_step / metrics.seconds / static_cast<double>(facts.devices);
  rates.tokens_per_second = static_cast<double>(metrics.tokens) / metrics.seconds;
  rates.tflops_per_device = flops_per_device / 1e12;
  if (facts.peak_flops_per_device)
    rates.peak_share = flops_per_device / *facts.peak_flops_per_device;
  return rates;
}

template <typename Call>
void MetricsLogger::for_each(Call call) {
  std::erase_if(sinks_, [&](const std::unique_ptr<MetricsSink>& sink) {
    const Status status = call(*sink);
    if (!status.ok())
      log_warning(sink->name(), " gets no more metrics: ", from_absl(status.message()));
    return !status.ok();
  });
}

void MetricsLogger::step(const StepMetrics& metrics) {
  for_each([&](MetricsSink& sink) { return sink.step(metrics); });
}

void MetricsLogger::eval(const EvalMetrics& metrics) {
  for_each([&](MetricsSink& sink) { return sink.eval(metrics); });
}

void MetricsLogger::save(const SaveMetrics& metrics) {
  for_each([&](MetricsSink& sink) { return sink.save(metrics); });
}

void MetricsLogger::goodput(const GoodputMetrics& metrics) {
  for_each([&](MetricsSink& sink) { return sink.goodput(metrics); });
}

void MetricsLogger::finish() {
  for_each([](MetricsSink& sink) { return sink.finish(); });
}

}  // namespace tessera
