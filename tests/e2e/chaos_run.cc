#include "tests/e2e/chaos_run.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <regex>

#include "absl/strings/str_format.h"
#include "tessera/ckpt/manager.h"
#include "tessera/ckpt/spread_files.h"

namespace tessera::e2e {
namespace {

constexpr int64_t kDiskBytes = 32 << 20;
// Timeouts that may follow each other: of heartbeats, of an error whose cause is waited for, of a
// process that is to end by itself, of launch until it kills. What comes on top is starting and
// compiling, more than once where a process comes back, on a machine that may be busy: the run's
// own first start says how long that takes.
constexpr double kTimeoutsS = 5 + 10 + 20 + 10;
constexpr double kStartsS = 60;
constexpr double kStarts = 6;  // as long as the first one

/// The number after a text in a line; -1 without it.
int64_t number_after(const std::string& line, const std::string& text) {
  const size_t at = line.find(text);
  return at == std::string::npos ? -1 : std::atoll(line.c_str() + at + text.size());
}

}  // namespace

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

ChaosRun::ChaosRun(const Workspace& workspace, const std::string& mode)
    : workspace_(workspace),
      mark_("TESSERA_CHAOS_RUN=" + workspace.folder()),
      mode_(mode),
      disk_(SmallDisk::mount_at(workspace.path("disk"), kDiskBytes)),
      near_(SmallDisk::mount_at(workspace.path("near"), kDiskBytes)),
      proxy_(targets()) {
  // Each process reaches the coordinator through a port of its own.
  std::string script =
      "echo $TESSERA_COORDINATOR_ADDRESS > coordinator-$TESSERA_PROCESS_ID\n"
      "case $TESSERA_PROCESS_ID in\n";
  for (int i = 0; i < kChaos.processes; ++i)
    script += absl::StrFormat("%d) port=%d ;;\n", i, proxy_.port(i));
  workspace.write("through.sh", script +
                                    "esac\nexport TESSERA_COORDINATOR_ADDRESS=127.0.0.1:$port\n"
                                    "exec \"$@\"\n");
}

void ChaosRun::start() {
  const Settings launch = {
      program(), "launch", "--processes=" + std::to_string(kChaos.processes),
      "--on-failure=" + mode_, "--max-restarts=100000",
      // All are needed: so the mesh stays what it is in `restart` mode.
      "--min-processes=" + std::to_string(mode_ == "restart" ? kChaos.processes : 1),
      absl::StrFormat("--heartbeat-timeout-s=%g", kChaos.heartbeat_timeout_s), "--grace-s=10", "--",
      "sh", "through.sh", program(), "train", "recipe.yaml", "output_directory=disk/run",
      "training.steps=100000", "checkpoint.local.directory=near", "checkpoint.local.interval=5"};
  begin_ = now_s();
  command_.emplace(workspace_.folder(), join(join(launch, kMesh), kChaosSettings), mark_);
}

std::vector<std::string> ChaosRun::targets() const {
  std::vector<std::string> files;
  for (int i = 0; i < kChaos.processes; ++i)
    files.push_back(workspace_.path("coordinator-" + std::to_string(i)));
  return files;
}

void ChaosRun::tell(const std::string& text) {
  story_ += absl::StrFormat("%8.2f s  %s\n", now_s() - begin_, text);
}

void ChaosRun::take(const std::string& line) {
  if (const auto step = reported_step(line)) return take_step(*step);
  static const std::regex kSetting(R"(\[[0-9]+\] ( |[a-z_]+:( |$)).*)");
  if (!std::regex_match(line, kSetting)) tell(line);
  if (const int64_t step = number_after(line, "stopped after step "); step >= 0) stopped_at_ = step;
  if (line.find("resumed from ") != std::string::npos) {
    ++resumes_;
    next_step_ = number_after(line, " at step ") + 1;
  }
  if (line.find("error: saving step ") != std::string::npos) save_failed_ = true;
  const int64_t devices = number_after(line, " devices: ");
  if (devices < 0) return;
  devices_ = devices;
  save_failed_ = false;
  steps_since_ = 0;
  is_first_ = true;
  next_step_ = 1;  // where nothing is gone on from
}

void ChaosRun::take_step(int64_t step) {
  EXPECT_EQ(step, next_step_) << "a step was left out, or made twice";
  if (std::exchange(is_first_, false)) check_goes_on_from(step - 1);
  next_step_ = step + 1;
  ++steps_made_;
  ++steps_since_;
}

void ChaosRun::check_goes_on_from(int64_t step) const {
  // A line may be read a moment after it was written, when more was committed.
  constexpr double kMostLate = 1;
  for (const auto& [seen, committed] : commits_) {
    if (seen > now_s() - kMostLate) continue;
    EXPECT_GE(step, committed) << "a committed step was lost";
  }
}

// The newest step that is there as a whole in either tier, as the run itself would look for it.
void ChaosRun::look_for_commits() {
  looked_ = now_s();
  PosixFileSystem files;
  int64_t newest = -1;
  const auto look_at = [&](FileSystem& in, const std::string& folder) {
    const auto latest = CheckpointManager(in, folder).latest(CheckDepth::kMetadata);
    // While it looks the run may save and remove.
    if (latest.ok() && latest->step) newest = std::max(newest, *latest->step);
  };
  const std::string durable = workspace_.path("disk/run/checkpoints");
  look_at(files, durable);
  const auto name = files.read_file(durable + "/run_name");
  const std::string place = workspace_.path("near/" + name.value_or("none"));
  if (auto index = index_place(files, place); index.ok()) {
    SpreadFiles spread(place, {{&files, place, *std::move(index)}});
    look_at(spread, place);
  }
  if (newest >= 0 && (commits_.empty() || newest > commits_.back().second))
    commits_.emplace_back(looked_, newest);
}

void ChaosRun::read_for(double seconds) {
  constexpr double kLookS = 0.1;
  const double end = now_s() + seconds;
  for (double before = now_s(); !ended_ && before < end;) {
    ended_ = !command_->read(std::min(kLookS, end - before), [&](const auto& line) { take(line); });
    longest_gap_s_ = std::max(longest_gap_s_, now_s() - before);
    if (now_s() > looked_ + 5 * kLookS) look_for_commits();
    before = now_s();
  }
}

void ChaosRun::signal_all(const std::vector<int>& processes, int number) {
  for (const int process : processes) {
    for (const pid_t pid : processes_with({mark_, "TESSERA_PROCESS_ID=" + std::to_string(process)}))
      kill(pid, number);
  }
}

void ChaosRun::strike(const Event& event) {
  look_for_commits();
  longest_gap_s_ = 0;
  const auto cut_off = [&](Cut cut) {
    for (const int process : event.processes) proxy_.set(process, cut);
  };
  switch (event.kind) {
    case Event::kKill:
      signal_all(event.processes, SIGKILL);
      break;
    case Event::kStop:
      signal_all(event.processes, SIGSTOP);
      read_for(event.seconds);
      signal_all(event.processes, SIGCONT);
      break;
    case Event::kCut:
      cut_off(event.cut);
      read_for(event.seconds);
      if (event.breaks) cut_off(Cut::kReset);
      if (event.breaks) read_for(0.05);
      cut_off(Cut::kNone);
      break;
    case Event::kFullDisk:
      fill_disk(event.is_near ? *near_ : *disk_, event.seconds);
      break;
  }
  constexpr double kLines = 0.3;  // for those that were written before
  read_for(kLines);
  steps_since_ = 0;
}

// What the run frees meanwhile is taken as well.
void ChaosRun::fill_disk(const SmallDisk& disk, double seconds) {
  for (const double end = now_s() + seconds; !ended_ && now_s() < end; read_for(0.05)) disk.fill();
  disk.empty();
}

bool ChaosRun::goes_on(int64_t resumes) {
  constexpr int64_t kSteps = 3;
  const double end = now_s() + bound_s_;
  const auto goes_on = [&] {
    return resumes_ >= resumes && devices_ == kChaos.processes && steps_since_ >= kSteps;
  };
  while (!ended_ && !goes_on() && now_s() < end) read_for(0.1);
  return !ended_ && goes_on();
}

bool ChaosRun::has_begun() {
  // Before there is a checkpoint a run that is killed begins anew, which is no going on.
  for (const double end = now_s() + bound_s_; commits_.empty() && now_s() < end && !ended_;)
    read_for(0.1);
  if (commits_.empty() || !goes_on(0)) return false;
  bound_s_ = kTimeoutsS + kStartsS + kStarts * (now_s() - begin_);
  return true;
}

int64_t ChaosRun::stop() {
  command_->signal(SIGTERM);
  for (const double end = now_s() + bound_s_; !ended_ && now_s() < end;) read_for(0.1);
  return ended_ ? stopped_at_ : -1;
}

}  // namespace tessera::e2e
