#include "tessera/train/watchdog.h"

#include <algorithm>
#include <utility>

#include "tessera/base/log.h"
#include "tessera/base/stack_trace.h"
#include "tessera/base/strings.h"

namespace tessera {
namespace {

constexpr char kTopic[] = "watchdog";
constexpr absl::Duration kLongestInterval = absl::Seconds(1);
// A look that comes so much later than it should says that this process did not run in between.
constexpr absl::Duration kPause = absl::Seconds(2);

constexpr int kLooksBeforeOthers = 3;

std::string training_stack(int thread) {
  std::string text;
  for (const std::string& frame : thread_stack(thread).frames) str_append(&text, "  ", frame, "\n");
  return text;
}

}  // namespace

Watchdog::Devices::Devices(Watchdog& watchdog, const pjrt::Client& client) : watchdog_(watchdog) {
  const std::lock_guard lock(watchdog_.mutex_);
  watchdog_.client_ = &client;
}

Watchdog::Devices::~Devices() {
  const std::lock_guard lock(watchdog_.mutex_);
  watchdog_.client_ = nullptr;
}

Watchdog::Watchdog(Peers& peers, const Clock& clock, WatchdogOptions options)
    : peers_(peers),
      clock_(clock),
      options_(std::move(options)),
      interval_(std::min(options_.hang_timeout / 10, kLongestInterval)),
      trainer_(this_thread_id()),
      entered_(clock.elapsed()),
      looked_(entered_),
      reported_(-absl::InfiniteDuration()),
      slow_(options_.slow_factor) {
  watching_ = Thread("watchdog", [this] { run(); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  watching_.join();
}

void Watchdog::enter(std::string_view activity) {
  const absl::Duration now = clock_.elapsed();
  const std::lock_guard lock(mutex_);
  ++position_;
  activity_ = activity;
  entered_ = now;
}

void Watchdog::enter(std::string_view activity, int64_t step) {
  enter(str_cat(activity, " ", step));
}

void Watchdog::begin_training() {
  const std::lock_guard lock(mutex_);
  trains_ = true;
  position_ = 0;
}

void Watchdog::add_step(double seconds, double data_seconds) {
  const std::lock_guard lock(mutex_);
  ++steps_.count;
  steps_.seconds += seconds;
  steps_.data_seconds += data_seconds;
}

// ---- the thread that watches

void Watchdog::run() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, absl::ToChronoNanoseconds(interval_), [&] { return over_; })) {
    lock.unlock();
    const bool ends = look();
    lock.lock();
    if (ends && !over_) {
      log_error("this process does not end by itself: it is ended now");
      options_.end_process();
      return;
    }
  }
}

// Whether this process has to be ended by force.
bool Watchdog::look() {
  forgive_pause();
  publish();
  if (peers_.leads() && reported_ == looked_ && own_.steps > 0) {
    if (const auto reports = all_reports(); reports.ok())
      for (const std::string& news : slow_.look(*reports)) log_warning(news);
  }
  if (!own_.stalled) {
    judged_ = 0;
    acted_position_.reset();
    return false;
  }
  if (own_.trains && acted_position_ != own_.position) {
    if (const auto reports = all_reports(); reports.ok()) {
      const HangVerdict verdict = judge_hang(peers_.process(), peers_.count(), *reports);
      // Process 0 first, if it can, since it is the one that people read.
      judged_ = verdict.is_final ? judged_ + 1 : 0;
      if (verdict.is_final && (peers_.leads() || judged_ > kLooksBeforeOthers))
        act(verdict, *reports);
    }
  }
  // Whoever cannot go on has an error to end with, unless it is stuck itself.
  if (!acted_position_ && !peers_.failure().ok()) {
    acted_position_ = own_.position;
    acted_ = looked_;
  }
  return acted_position_ == own_.position && looked_ - acted_ > options_.to_end;
}

// Time in which this process was stopped, or its machine slept, is not time in which it did not get
// on.
void Watchdog::forgive_pause() {
  const absl::Duration now = clock_.elapsed();
  const absl::Duration pause = now - looked_ - interval_;
  looked_ = now;
  if (pause < kPause) return;
  const std::lock_guard lock(mutex_);
  entered_ = std::min(entered_ + pause, now);
}

void Watchdog::publish() {
  ProcessReport report = own_;
  const absl::Duration since_report = looked_ - reported_;
  const bool is_due = since_report >= std::min(options_.report_interval, options_.hang_timeout / 4);
  {
    const std::lock_guard lock(mutex_);
    report.incarnation = peers_.incarnation();
    report.trains = trains_;
    report.position = position_;
    report.activity = activity_;
    report.seconds = absl::ToDoubleSeconds(looked_ - entered_);
    report.stalled = looked_ - entered_ >= options_.hang_timeout;
    report.collectives.clear();
    if (report.stalled && client_ != nullptr)
      report.collectives = client_->collectives_under_way().value_or("");
    if (is_due && steps_.count > 0) fill_step_times(&report);
  }
  const bool was_stalled = own_.stalled && own_.position == report.position;
  const bool is_news = report.stalled && !was_stalled;
  if (is_news && report.trains) {  // compilers are better not interrupted
    report.stack = training_stack(trainer_);
    report.threads = to_text(thread_stacks());
  } else if (!report.stalled) {
    report.stack.clear();
    report.threads.clear();
  }
  own_ = std::move(report);
  if (!is_due && own_.stalled == was_stalled) return;
  reported_ = looked_;
  // Without the coordinator there is nobody to tell, and others say that it is lost.
  const Status status = peers_.publish(kTopic, own_.to_text());
  if (!status.ok()) log_debug("watchdog: ", from_absl(status.message()));
  // Last: what is stuck may hold the log.
  if (is_news && own_.trains) {
    log_warning("for ", static_cast<int64_t>(own_.seconds), " s this process has been ",
                own_.activity);
  }
}

// mutex_ is held.
void Watchdog::fill_step_times(ProcessReport* report) {
  const Steps steps = std::exchange(steps_, Steps());
  const auto count = static_cast<double>(steps.count);
  absl::Duration waited = waited_;
  if (client_ != nullptr) {
    if (const auto traffic = client_->traffic(); traffic.ok()) waited = traffic->waited;
  }
  const double waited_seconds = absl::ToDoubleSeconds(waited - std::exchange(waited_, waited));
  report->steps = steps.count;
  report->step_seconds = steps.seconds / count;
  report->data_seconds = steps.data_seconds / count;
  // With a plugin that does not say how long it waited nobody is slow but by its data.
  report->own_seconds = waited_seconds > 0 ? std::max(0.0, (steps.seconds - waited_seconds) / count)
                                           : report->data_seconds;
}

// Errors: the coordinator's, without which nothing is known of the others.
Result<std::map<int, ProcessReport>> Watchdog::all_reports() const {
  std::map<int, ProcessReport> result;
  ASSIGN_OR_RETURN(const auto texts, peers_.published(kTopic));
  for (const auto& [process, text] : texts) {
    auto report = ProcessReport::parse(text);
    if (report.ok()) result[process] = *std::move(report);
  }
  result[peers_.process()] = own_;
  return result;
}

void Watchdog::act(const HangVerdict& verdict, const std::map<int, ProcessReport>& reports) {
  log_error(verdict.message);
  acted_position_ = own_.position;
  acted_ = looked_;
  if (peers_.alone()) {
    acted_ = -absl::InfiniteDuration();  // there is nobody to end it
    return;
  }
  for (const int process : verdict.stuck) {
    const auto found = reports.find(process);
    if (found == reports.end()) continue;
    const ProcessReport& report = found->second;
    const Status told = peers_.declare_dead(
        process, report.incarnation,
        str_cat("did not get on: for ", static_cast<int64_t>(report.seconds), " s it was ",
                report.activity, " (fault_tolerance.hang_timeout_s)"));
    if (!told.ok()) log_warning("watchdog: ", from_absl(told.message()));
  }
  if (verdict.stuck.empty())
    peers_.give_up(absl::DeadlineExceededError(
        "no process gets on (fault_tolerance.hang_timeout_s); see the logs"));
}

}  // namespace tessera
