#include "tests/e2e/chaos_events.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace tessera::e2e {
namespace {

// The library's distributions may differ from one system to another; these do not.
double between(std::mt19937& random, double least, double most) {
  return least + (most - least) * (random() / 4294967296.0);
}
int below(std::mt19937& random, int count) { return static_cast<int>(random() % count); }

template <typename T>
void shuffle(std::mt19937& random, std::vector<T>& items) {
  for (size_t i = items.size(); i > 1; --i)
    std::swap(items[i - 1], items[static_cast<size_t>(below(random, static_cast<int>(i)))]);
}

std::vector<int> some(std::mt19937& random, int count, int of) {
  std::vector<int> all(static_cast<size_t>(of));
  for (int i = 0; i < of; ++i) all[static_cast<size_t>(i)] = i;
  shuffle(random, all);
  all.resize(static_cast<size_t>(count));
  std::sort(all.begin(), all.end());
  return all;
}

Event make(std::mt19937& random, Event::Kind kind, bool is_long, const ChaosOptions& options) {
  // Mostly one process; sometimes several, or all.
  const int sizes[] = {1, 1, 1, 2, options.processes};
  const double timeout_s = options.heartbeat_timeout_s;
  Event event;
  event.kind = kind;
  event.is_long = is_long;
  event.processes = some(random, sizes[below(random, 5)], options.processes);
  event.seconds = is_long ? between(random, timeout_s * 1.3, timeout_s * 2)
                          : between(random, 0.05, timeout_s / 4);
  event.after_s = between(random, 0.1, 2);
  const Cut cuts[] = {Cut::kHeld, Cut::kReset};
  if (kind == Event::kCut) event.cut = cuts[below(random, 2)];
  if (event.cut == Cut::kHeld) event.breaks = below(random, 2) == 1;
  if (kind == Event::kFullDisk) event.seconds = between(random, 0.5, timeout_s);
  if (kind == Event::kFullDisk) event.is_near = below(random, 3) == 0;
  return event;
}

}  // namespace

std::string to_text(const Event& event) {
  const std::string who = "process " + absl::StrJoin(event.processes, ", ");
  const std::string span = absl::StrFormat("for %.2f s", event.seconds);
  std::string text;
  if (event.kind == Event::kKill) text = "SIGKILL to " + who;
  if (event.kind == Event::kStop) text = "SIGSTOP to " + who + " " + span;
  if (event.kind == Event::kCut) {
    text = who + " cut off from the coordinator " + span +
           (event.cut == Cut::kReset ? ": connections reset" : ": nothing gets through") +
           (event.breaks ? ", and then reset" : "");
  }
  if (event.kind == Event::kFullDisk)
    text = std::string(event.is_near ? "the near tier's" : "the run's") + " disk full " + span;
  return absl::StrFormat("%s, %.2f s after %s", text, event.after_s,
                         event.waits ? "the run got over the one before" : "the one before");
}

std::vector<Event> one_of_each(std::mt19937& random, const ChaosOptions& options) {
  std::vector<Event> events = {
      make(random, Event::kKill, false, options), make(random, Event::kStop, false, options),
      make(random, Event::kStop, true, options),  make(random, Event::kCut, false, options),
      make(random, Event::kCut, true, options),   make(random, Event::kFullDisk, false, options)};
  shuffle(random, events);
  return events;
}

std::vector<Event> random_events(std::mt19937& random, int count, const ChaosOptions& options) {
  std::vector<Event> events;
  for (int i = 0; i < count; ++i) {
    const Event::Kind kinds[] = {Event::kKill, Event::kKill, Event::kStop, Event::kCut,
                                 Event::kFullDisk};
    const Event::Kind kind = kinds[below(random, 5)];
    const bool may_be_long = kind == Event::kStop || kind == Event::kCut;
    const bool is_long = may_be_long && below(random, 2) == 1;
    events.push_back(make(random, kind, is_long, options));
    if (i == 0 || below(random, 3) > 0) continue;
    events.back().waits = false;
    events.back().after_s = between(random, 0, 6);
  }
  return events;
}

}  // namespace tessera::e2e
