// Runs to which everything happens at once, at random moments: they go on, and come out as one that
// nothing happened to. In `./check` one of each kind of event; any for as long as asked by
// TESSERA_CHAOS_MINUTES. What happens follows from a seed, which is printed: TESSERA_CHAOS_SEED.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "tessera/ckpt/manager.h"
#include "tests/e2e/chaos_run.h"
#include "tests/e2e/examples.h"

namespace tessera::e2e {
namespace {

std::string last_lines(const std::string& text) {
  constexpr size_t kBytes = 10000;
  if (text.size() <= kBytes) return text;
  return text.substr(text.find('\n', text.size() - kBytes) + 1);
}

/// One run, from its start until it was asked to stop, and what came of it.
class Chaos {
 public:
  Chaos(const std::string& mode, unsigned seed)
      : mode_(mode), seed_(seed), run_(workspace_, mode) {}
  ~Chaos() {
    const bool asked = std::getenv("TESSERA_CHAOS_STORY") != nullptr;
    if (!asked && !::testing::Test::HasFailure()) return;
    std::printf("%s", run_.story().c_str());
    for (int i = 0; i < kChaos.processes; ++i) {
      const std::string log = "disk/run/logs/process-" + std::to_string(i) + ".log";
      std::printf("--- %s ends with\n%s", log.c_str(), last_lines(workspace_.read(log)).c_str());
    }
    std::fflush(stdout);
  }

  void happen(const std::vector<Event>& events);
  void end();
  void compare() const;

 private:
  double saved_loss(const std::string& output) const;

  const Workspace workspace_;
  const std::string mode_;
  const unsigned seed_;
  ChaosRun run_;
  int64_t steps_ = -1;
  bool disk_was_full_ = false;
  double longest_s_ = 0;  // from the end of an event until the run went on
};

void Chaos::happen(const std::vector<Event>& events) {
  run_.start();
  ASSERT_TRUE(run_.has_begun()) << "before anything happened";
  for (size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    if (event.kind == Event::kFullDisk && !run_.disks_may_be_full()) {
      std::printf("%s: left out, may not mount: %s\n", mode_.c_str(), to_text(event).c_str());
      continue;
    }
    run_.read_for(event.after_s);
    const int64_t resumes = run_.resumes();
    run_.tell("--- " + to_text(event));
    std::printf("%s: %s\n", mode_.c_str(), to_text(event).c_str());
    std::fflush(stdout);
    run_.strike(event);
    disk_was_full_ = disk_was_full_ || (event.kind == Event::kFullDisk && !event.is_near);
    if (i + 1 < events.size() && !events[i + 1].waits) continue;
    // An event that struck while the run got over another may have met nobody.
    const bool costs_steps = event.waits && event.costs_steps();
    const double over = now_s();
    const bool goes_on = run_.goes_on(costs_steps ? resumes + 1 : 0);
    longest_s_ = std::max(longest_s_, now_s() - over);
    ASSERT_TRUE(goes_on) << "seed " << seed_ << ": the run did not go on within " << run_.bound_s()
                         << " s after " << to_text(event);
    // Nor can a machine be asked for anything on which this process itself has to wait for so long.
    const bool is_short = event.kind == Event::kStop || event.kind == Event::kCut;
    const bool is_harmless = event.waits && is_short && !event.is_long &&
                             run_.longest_gap_s() < kChaos.heartbeat_timeout_s / 5;
    if (is_harmless) {
      EXPECT_EQ(run_.resumes(), resumes) << to_text(event) << " cost steps";
    }
  }
}

void Chaos::end() {
  run_.read_for(0.5);
  steps_ = run_.stop();
  ASSERT_GT(steps_, 0) << "it did not stop";
  std::printf("%s: stopped after step %ld; made %ld, resumed %ld times, went on within %.1f s\n",
              mode_.c_str(), static_cast<long>(steps_), static_cast<long>(run_.steps_made()),
              static_cast<long>(run_.resumes()), longest_s_);
  const int code = run_.exit_code();
  EXPECT_EQ(code, run_.save_failed() ? 1 : 0);
  EXPECT_THAT(run_.left_over(), ::testing::IsEmpty()) << "processes that are left over";
  EXPECT_GE(run_.connections(), kChaos.processes) << "none went through the proxy";
}

std::vector<std::string> files_below(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) names.push_back(entry.path().string().substr(folder.size() + 1));
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Of the last step, as its checkpoint has it.
double Chaos::saved_loss(const std::string& output) const {
  PosixFileSystem files;
  const auto reader =
      CheckpointManager(files, workspace_.path(output + "/checkpoints")).open(steps_);
  EXPECT_TRUE(reader.ok()) << reader.status();
  if (!reader.ok()) return 0;
  return nlohmann::json::parse((*reader)->manifest().metrics_json)["loss"].get<double>();
}

void Chaos::compare() const {
  const Ended verified = workspace_.run({"checkpoint", "verify", "disk/run"});
  EXPECT_EQ(verified.exit_code, 0) << verified.out << verified.err;
  const std::string steps = std::to_string(steps_);
  const Ended whole = launch(
      workspace_, kChaos.processes,
      join(join(kMesh, kChaosSettings), {"output_directory=whole", "training.steps=" + steps}));
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const bool is_same_mesh = mode_ == "restart";
  const double tolerance = is_same_mesh ? 0 : 1e-5;
  EXPECT_NEAR(saved_loss("disk/run") / saved_loss("whole"), 1, tolerance);
  // A full disk costs lines of metrics, until the run is started again.
  const auto expected = workspace_.losses("whole"), got = workspace_.losses("disk/run");
  EXPECT_EQ(std::ssize(expected), steps_);
  if (!disk_was_full_) {
    EXPECT_EQ(std::ssize(got), steps_);
  }
  for (const auto& [step, loss] : got) {
    ASSERT_TRUE(expected.contains(step)) << step;
    EXPECT_NEAR(std::stod(loss) / std::stod(expected.at(step)), 1, tolerance) << "step " << step;
  }
  EXPECT_EQ(examples_of(workspace_, "disk/run"), examples_of(workspace_, "whole"));
  if (!is_same_mesh) return;
  // The state too, byte by byte.
  const std::string state = "/checkpoints/" + steps + "/state";
  const std::vector<std::string> files = files_below(workspace_.path("whole" + state));
  EXPECT_GT(files.size(), 20u);
  for (const std::string& file : files) {
    EXPECT_EQ(workspace_.read("disk/run" + state + "/" + file),
              workspace_.read("whole" + state + "/" + file))
        << file;
  }
}

double minutes_asked() {
  const char* text = std::getenv("TESSERA_CHAOS_MINUTES");
  return text != nullptr ? std::atof(text) : 0;
}

unsigned first_seed() {
  const char* text = std::getenv("TESSERA_CHAOS_SEED");
  return text != nullptr ? static_cast<unsigned>(std::strtoul(text, nullptr, 10))
                         : std::random_device{}();
}

void chaos(const std::string& mode) {
  constexpr int kEvents = 12;  // of a run of the long form
  const double end = now_s() + minutes_asked() * 60;
  unsigned seed = first_seed();
  do {
    std::printf("%s: TESSERA_CHAOS_SEED=%u\n", mode.c_str(), seed);
    std::mt19937 random(seed);
    Chaos chaos(mode, seed);
    const auto events =
        minutes_asked() > 0 ? random_events(random, kEvents, kChaos) : one_of_each(random, kChaos);
    chaos.happen(events);
    if (!::testing::Test::HasFatalFailure()) chaos.end();
    if (!::testing::Test::HasFatalFailure()) chaos.compare();
    ++seed;
  } while (now_s() < end && !::testing::Test::HasFailure());
}

TEST(Chaos, LosesNothingInModeRestart) { chaos("restart"); }
TEST(Chaos, LosesNothingInModeElastic) { chaos("elastic"); }

}  // namespace
}  // namespace tessera::e2e
