// Writes what read_events.py reads: usage: write_events FOLDER. A run of 10 steps that crashes
// after step 7 and resumes from its checkpoint of step 4.
#include <cmath>
#include <cstdio>
#include <utility>

#include "tessera/train/metrics_tensorboard.h"

namespace tessera {
namespace {

const RunFacts kFacts = {
    .total_steps = 10, .devices = 2, .flops_per_step = 1e12, .peak_flops_per_device = 2e12};

/// The steps after `from` up to `to`; `shift` tells the two runs' losses apart.
Status write_run(const std::string& folder, int64_t from, int64_t to, double shift) {
  PosixFileSystem files;
  FakeClock clock;
  clock.advance(absl::Seconds(from));
  ASSIGN_OR_RETURN(const std::unique_ptr<MetricsSink> sink,
                   make_tensorboard_sink(folder, from, kFacts, files, clock));
  for (int64_t step = from + 1; step <= to; ++step) {
    clock.advance(absl::Milliseconds(500));
    const double loss = 1.0 / static_cast<double>(step) + shift;
    RETURN_IF_ERROR(sink->step({.step = step,
                                .loss = loss,
                                .learning_rate = 0.25,
                                .grad_norm = 2,
                                .seconds = 0.5,
                                .data_wait_seconds = 0.003,
                                .tokens = 4096,
                                .extra = {{"z_loss", 0.125}}}));
  }
  RETURN_IF_ERROR(sink->save({.step = to, .bytes = 4096, .stall_seconds = 0.25}));
  return sink->eval({.step = to, .loss = std::log(2.0), .tokens = 100, .seconds = 1, .extra = {}});
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  tessera::Status status = tessera::write_run(argv[1], 0, 7, 0);
  if (status.ok()) status = tessera::write_run(argv[1], 4, 10, 100);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
