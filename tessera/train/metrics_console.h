#pragma once

#include <memory>
#include <optional>
#include <string>

#include "tessera/base/log.h"
#include "tessera/train/metrics.h"
#include "tessera/train/progress.h"

namespace tessera {

struct ConsoleOptions {
  int64_t interval = 1;  ///< Steps between lines; the first and the last step have one in any case.
  std::optional<int>
      row_width;  ///< terminal_width(): shows a progress bar below the lines; nothing: lines only.
};

/// Lines for the person who watches, and a progress bar on a terminal. `log` and `clock` must
/// outlive the sink.
std::unique_ptr<MetricsSink> make_console_sink(const RunFacts& facts, const ConsoleOptions& options,
                                               LogSink& log, const Clock& clock);

/// `step 7/100  loss 4.1234  lr 3.00e-04  grad norm 1.234  512.0 ms  8,000 tokens/s  0.102 TFLOP/s
/// a device (41.3 % of GEMM peak)`, on one line.
std::string step_line(const StepMetrics& metrics, const RunFacts& facts);
/// `step 7/100  validation loss 4.1234  perplexity 61.77  16,384 tokens  1.2 s`.
std::string eval_line(const EvalMetrics& metrics, const RunFacts& facts);

}  // namespace tessera
