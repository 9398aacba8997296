#include "tessera/runtime/timeline.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "tessera/base/json.h"

namespace tessera {

struct Timeline::Span {
  Launch launch;
  absl::Time ready, end;  // guarded by the state's mutex
  int waiting = 0;        // the same: events that have not come, of arguments and of the end
  bool launched = false;  // the same
  std::string error;      // the same
};

struct Timeline::State {
  explicit State(const Clock& clock) : clock(clock), origin(origin_of(clock)) {}

  // The time of day at elapsed() = 0: of several readings the one with the least pause between the
  // two clocks, so that processes of one machine agree.
  static absl::Time origin_of(const Clock& clock) {
    absl::Time origin;
    absl::Duration least = absl::InfiniteDuration();
    for (int i = 0; i < 16; ++i) {
      const absl::Duration before = clock.elapsed();
      const absl::Time now = clock.now();
      const absl::Duration pause = clock.elapsed() - before;
      if (pause >= least) continue;
      least = pause;
      origin = now - before;
    }
    return origin;
  }

  const Clock& clock;
  const absl::Time origin;  // so that stamps never go back
  std::mutex mutex;
  std::condition_variable ended;
  std::vector<std::shared_ptr<Span>> spans;  // guarded by mutex

  absl::Time now() const { return origin + clock.elapsed(); }
  static bool is_over(const Span& span) { return span.launched && span.waiting == 0; }
};

namespace {

// Calls back for each event once, be it ready already or not to be had.
template <typename Callback>
void when_ready(const Result<pjrt::Event>& event, const Callback& callback) {
  if (!event.ok()) return callback(event.status());
  const Status asked = event->on_ready(callback);
  if (!asked.ok()) callback(asked);
}

}  // namespace

Timeline::Timeline(int process, const Clock& clock)
    : process_(process), state_(std::make_shared<State>(clock)) {}

std::shared_ptr<Timeline::Span> Timeline::begin(Launch launch,
                                                const std::vector<const pjrt::Buffer*>& arguments) {
  auto span = std::make_shared<Span>();
  span->launch = std::move(launch);
  {
    std::lock_guard lock(state_->mutex);
    span->ready = span->end = state_->now();
    span->waiting = static_cast<int>(arguments.size());
    state_->spans.push_back(span);
  }
  for (const pjrt::Buffer* argument : arguments) {
    when_ready(argument->ready(), [state = state_, span](const Status&) {
      std::lock_guard lock(state->mutex);
      span->ready = std::max(span->ready, state->now());
      --span->waiting;
      state->ended.notify_all();
    });
  }
  return span;
}

void Timeline::end(const std::shared_ptr<Span>& span, std::span<const pjrt::Event> done) {
  {
    std::lock_guard lock(state_->mutex);
    span->waiting += static_cast<int>(done.size());
    span->launched = true;
    span->end = std::max(span->end, state_->now());
    state_->ended.notify_all();
  }
  for (const pjrt::Event& event : done) {
    const auto callback = [state = state_, span](const Status& status) {
      std::lock_guard lock(state->mutex);
      span->end = std::max(span->end, state->now());
      if (!status.ok()) span->error = status.ToString();
      --span->waiting;
      state->ended.notify_all();
    };
    const Status asked = event.on_ready(callback);
    if (!asked.ok()) callback(asked);
  }
}

// A device runs its launches in their order: one was over when a later one was, though threads may
// tell of both the other way round.
std::vector<absl::Time> Timeline::ends_in_order() const {
  std::vector<absl::Time> ends(state_->spans.size());
  std::map<int64_t, absl::Time> next_end;  // by device
  for (size_t i = ends.size(); i-- > 0;) {
    const Span& span = *state_->spans[i];
    ends[i] = span.end;
    for (int64_t id : span.launch.device_ids) {
      if (const auto next = next_end.find(id); next != next_end.end())
        ends[i] = std::min(ends[i], next->second);
    }
    for (int64_t id : span.launch.device_ids) next_end[id] = ends[i];
  }
  return ends;
}

std::vector<Timeline::Record> Timeline::records() const {
  std::unique_lock lock(state_->mutex);
  const auto all_over = [&] {
    return std::ranges::all_of(state_->spans, [](const auto& s) { return State::is_over(*s); });
  };
  state_->ended.wait(lock, all_over);
  const std::vector<absl::Time> ends = ends_in_order();
  std::vector<Record> records;
  std::map<int64_t, absl::Time> last_end;  // by device
  for (size_t i = 0; i < ends.size(); ++i) {
    const Span* span = state_->spans[i].get();
    absl::Time begin = span->ready;
    for (int64_t id : span->launch.device_ids) {
      const auto [last, is_first] = last_end.try_emplace(id, absl::InfinitePast());
      begin = std::max(begin, last->second);
      last->second = ends[i];
    }
    records.push_back({span->launch, std::min(begin, ends[i]), ends[i], span->error});
  }
  return records;
}

std::string Timeline::chrome_trace() const {
  Json events = Json::array();
  const auto microseconds = [](absl::Duration d) { return absl::ToDoubleMicroseconds(d); };
  for (const Record& record : records()) {
    const auto& ids = record.launch.device_ids;
    Json args = {{"call", record.launch.call}, {"devices", ids}};
    if (!record.error.empty()) args["error"] = record.error;
    events.push_back({{"name", record.launch.name},
                      {"ph", "X"},
                      {"ts", microseconds(record.begin - absl::UnixEpoch())},
                      {"dur", microseconds(record.end - record.begin)},
                      {"pid", process_},
                      {"tid", ids.empty() ? -1 : ids[0]},
                      {"args", std::move(args)}});
  }
  return Json{{"traceEvents", std::move(events)}}.dump(1);
}

}  // namespace tessera
