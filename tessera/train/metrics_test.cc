#include "tessera/train/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "absl/strings/str_split.h"
#include "tessera/base/json.h"
#include "tessera/base/log.h"
#include "tessera/base/testing.h"
#include "tessera/train/metrics_console.h"
#include "tessera/train/metrics_json.h"
#include "tessera/train/metrics_tensorboard.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

const RunFacts kFacts = {
    .total_steps = 10, .devices = 4, .flops_per_step = 2e12, .peak_flops_per_device = 1e12};

StepMetrics step(int64_t number) {
  return {.step = number,
          .loss = 4.125,
          .learning_rate = 3e-4,
          .grad_norm = 1.5,
          .seconds = 2,
          .tokens = 8192,
          .extra = {}};
}

struct Capture {
  FakeClock clock;
  std::string text;
  LogSink log{[this](std::string_view part) { text += part; }, clock};
};

TEST(Throughput, FollowsFromTheStepsTimeAndTheRunsFacts) {
  const Throughput rates = throughput(step(1), kFacts);
  EXPECT_EQ(rates.tokens_per_second, 4096);
  EXPECT_EQ(rates.tflops_per_device, 0.25);
  EXPECT_EQ(rates.peak_share, 0.25);
  EXPECT_FALSE(throughput(step(1), RunFacts{.devices = 4}).peak_share.has_value());
}

TEST(ConsoleMetrics, ALineHasEveryFigure) {
  StepMetrics metrics = step(7);
  metrics.extra = {{"z_loss", 0.5}};
  EXPECT_EQ(step_line(metrics, kFacts),
            "step 7/10  loss 4.1250  lr 3.00e-04  grad norm 1.500  2000.0 ms  4,096 tokens/s  0.25 "
            "TFLOP/s a device "
            "(25.0 % of GEMM peak)  z_loss 0.5");
  EXPECT_THAT(step_line(metrics, RunFacts{.total_steps = 10}), Not(HasSubstr("peak")));
}

TEST(ConsoleMetrics, AValidationHasItsOwnLine) {
  const EvalMetrics metrics = {
      .step = 10, .loss = 2, .tokens = 1'234'567, .seconds = 1.25, .extra = {{"unigram", 7.5}}};
  EXPECT_EQ(
      eval_line(metrics, kFacts),
      "step 10/10  validation loss 2.0000  perplexity 7.39  1,234,567 tokens  1.2 s  unigram 7.5");
}

TEST(ConsoleMetrics, LinesComeAtTheIntervalAndForTheFirstAndLastStep) {
  Capture capture;
  const auto sink = make_console_sink(kFacts, {.interval = 4, .row_width = std::nullopt},
                                      capture.log, capture.clock);
  for (int64_t number = 3; number <= 10; ++number) ASSERT_TRUE(sink->step(step(number)).ok());
  std::vector<std::string> steps;
  for (const auto& line : absl::StrSplit(capture.text, '\n', absl::SkipEmpty())) {
    steps.push_back(std::vector<std::string>(absl::StrSplit(line, ' '))[2]);
  }
  EXPECT_THAT(steps, ElementsAre("3/10", "4/10", "8/10", "10/10"));
  EXPECT_THAT(capture.text, Not(HasSubstr("\033")));
}

TEST(ConsoleMetrics, ATerminalHasARowThatFitsAndIsGoneAtTheEnd) {
  Capture capture;
  const auto sink =
      make_console_sink(kFacts, {.interval = 100, .row_width = 40}, capture.log, capture.clock);
  ASSERT_TRUE(sink->step(step(1)).ok());
  capture.text.clear();
  ASSERT_TRUE(sink->step(step(5)).ok());
  EXPECT_THAT(capture.text, HasSubstr("\r\033[K[#####.....] 50 % 5/10"));
  EXPECT_LE(capture.text.size() - std::string("\r\033[K").size(), 39u);
  capture.text.clear();
  ASSERT_TRUE(sink->finish().ok());
  EXPECT_EQ(capture.text, "\r\033[K");
}

TEST(JsonMetrics, EveryStepAndValidationIsALine) {
  TempFolder files;
  FakeClock clock;
  auto sink = make_json_sink(files / "run/metrics.jsonl", 0, kFacts, files.disk(), clock);
  ASSERT_TRUE(sink.ok()) << sink.status();
  ASSERT_TRUE((*sink)->step(step(1)).ok());
  ASSERT_TRUE(
      (*sink)
          ->eval({.step = 1, .loss = 2, .tokens = 64, .seconds = 1, .extra = {{"unigram_loss", 7}}})
          .ok());
  ASSERT_TRUE((*sink)
                  ->save({.step = 1,
                          .bytes = 4096,
                          .ready_seconds = 0.5,
                          .stall_seconds = 0.25,
                          .copy_seconds = 0.125,
                          .write_seconds = 2,
                          .commit_seconds = 1})
                  .ok());
  ASSERT_TRUE((*sink)->finish().ok());
  EXPECT_EQ(
      *files.disk().read_file(files / "run/metrics.jsonl"),
      R"({"step":1,"time":1700000000.0,"loss":4.125,"learning_rate":0.0003,"grad_norm":1.5,"step_ms":2000.0,"data_wait_ms":0.0,)"
      R"("tokens":8192,"tokens_per_second":4096.0,"tflops_per_device":0.25,"gemm_peak_share":0.25})"
      "\n"
      R"({"step":1,"time":1700000000.0,"eval_loss":2.0,"eval_perplexity":7.38905609893065,"eval_tokens":64,)"
      R"("eval_seconds":1.0,"eval_unigram_loss":7.0})"
      "\n"
      R"({"step":1,"time":1700000000.0,"save_tier":"durable","save_bytes":4096,"save_ready_seconds":0.5,"save_stall_seconds":0.25,)"
      R"("save_copy_seconds":0.125,"save_write_seconds":2.0,"save_commit_seconds":1.0})"
      "\n");
}

TEST(JsonMetrics, ANumberThatIsNotFiniteIsNull) {
  TempFolder files;
  FakeClock clock;
  auto sink = *make_json_sink(files / "metrics.jsonl", 0, kFacts, files.disk(), clock);
  StepMetrics metrics = step(1);
  metrics.loss = std::numeric_limits<double>::quiet_NaN();
  ASSERT_TRUE(sink->step(metrics).ok());
  EXPECT_TRUE(Json::parse(*files.disk().read_file(files / "metrics.jsonl"))["loss"].is_null());
}

std::vector<int64_t> steps_in(FileSystem& files, const std::string& path) {
  std::vector<int64_t> steps;
  const std::string text = *files.read_file(path);
  for (const auto& line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    steps.push_back(Json::parse(std::string(line))["step"].get<int64_t>());
  }
  return steps;
}

TEST(JsonMetrics, AResumedRunHasEveryStepOnce) {
  TempFolder files;
  FakeClock clock;
  auto first = *make_json_sink(files / "metrics.jsonl", 0, kFacts, files.disk(), clock);
  for (int64_t number = 1; number <= 5; ++number) ASSERT_TRUE(first->step(step(number)).ok());
  first.reset();
  auto torn = *files.disk().append_file(files / "metrics.jsonl");
  ASSERT_TRUE(torn->append("{\"step\":6,\"ti").ok());
  ASSERT_TRUE(torn->close().ok());

  auto second = *make_json_sink(files / "metrics.jsonl", 3, kFacts, files.disk(), clock);
  EXPECT_THAT(steps_in(files.disk(), files / "metrics.jsonl"), ElementsAre(1, 2, 3));
  ASSERT_TRUE(second->step(step(4)).ok());
  EXPECT_THAT(steps_in(files.disk(), files / "metrics.jsonl"), ElementsAre(1, 2, 3, 4));
}

TEST(JsonMetrics, ATornLineIsCutOffEvenWhenNoStepIs) {
  TempFolder files;
  FakeClock clock;
  auto torn = *files.disk().create_file(files / "metrics.jsonl");
  ASSERT_TRUE(torn->append("{\"step\":1}\n{\"st").ok());
  auto sink = *make_json_sink(files / "metrics.jsonl", 5, kFacts, files.disk(), clock);
  ASSERT_TRUE(sink->step(step(6)).ok());
  EXPECT_THAT(steps_in(files.disk(), files / "metrics.jsonl"), ElementsAre(1, 6));
}

TEST(JsonMetrics, ADamagedLineCostsNoOtherLine) {
  TempFolder files;
  FakeClock clock;
  auto damaged = *files.disk().create_file(files / "metrics.jsonl");
  ASSERT_TRUE(damaged->append("{\"step\":1}\n\xff{\"step\":2}\n\n[2]\n{\"step\":3}\n").ok());
  auto sink = *make_json_sink(files / "metrics.jsonl", 5, kFacts, files.disk(), clock);
  EXPECT_THAT(steps_in(files.disk(), files / "metrics.jsonl"), ElementsAre(1, 3));
}

TEST(JsonMetrics, ANewRunStartsANewFile) {
  TempFolder files;
  FakeClock clock;
  ASSERT_TRUE((*make_json_sink(files / "metrics.jsonl", 0, kFacts, files.disk(), clock))
                  ->step(step(1))
                  .ok());
  ASSERT_TRUE((*make_json_sink(files / "metrics.jsonl", 0, kFacts, files.disk(), clock))
                  ->step(step(1))
                  .ok());
  EXPECT_THAT(steps_in(files.disk(), files / "metrics.jsonl"), ElementsAre(1));
}

TEST(TensorBoardMetrics, EachStartMakesAFileOfItsOwnThatSortsAfterTheLast) {
  TempFolder files;
  FakeClock clock;
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(
        make_tensorboard_sink(files / "run/tensorboard", i, kFacts, files.disk(), clock).ok());
  const auto listed = *files.disk().list(files / "run/tensorboard");
  ASSERT_EQ(listed.size(), 3u);
  for (size_t i = 0; i < listed.size(); ++i) {
    EXPECT_THAT(listed[i].name, HasSubstr(str_cat("events.out.tfevents.1700000000.", i, ".")));
  }
}

class BrokenSink : public MetricsSink {
 public:
  std::string name() const override { return "the broken one"; }
  Status step(const StepMetrics&) override { return absl::ResourceExhaustedError("disk full"); }
  Status eval(const EvalMetrics&) override { return absl::OkStatus(); }
};

class CountingSink : public MetricsSink {
 public:
  explicit CountingSink(int& calls) : calls_(calls) {}
  std::string name() const override { return "counter"; }
  Status step(const StepMetrics&) override { return ++calls_, absl::OkStatus(); }
  Status eval(const EvalMetrics&) override { return ++calls_, absl::OkStatus(); }

 private:
  int& calls_;
};

TEST(MetricsLogger, ASinkThatFailsIsReportedOnceAndTheOthersGoOn) {
  Capture capture;
  ScopedLogSink scoped(capture.log);
  int calls = 0;
  MetricsLogger logger;
  logger.add(std::make_unique<BrokenSink>());
  logger.add(std::make_unique<CountingSink>(calls));
  logger.step(step(1));
  logger.step(step(2));
  logger.eval({.step = 2});
  logger.finish();
  EXPECT_EQ(calls, 3);
  EXPECT_THAT(capture.text, EndsWith("warning: the broken one gets no more metrics: disk full\n"));
  EXPECT_EQ(std::count(capture.text.begin(), capture.text.end(), '\n'), 1);
}

}  // namespace
}  // namespace tessera
