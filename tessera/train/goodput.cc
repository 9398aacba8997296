#include "tessera/train/goodput.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "absl/strings/str_format.h"
#include "tessera/base/strings.h"

namespace tessera {

Goodput::Goodput(const Clock& clock) : clock_(clock) { first_start_ = start_ = entered_ = now(); }

double Goodput::now() const { return absl::ToDoubleSeconds(clock_.now() - absl::UnixEpoch()); }

Goodput::Kind Goodput::enter(Kind kind) {
  const double time = now();
  since_[kind_] += time - entered_;
  entered_ = time;
  return std::exchange(kind_, kind);
}

void Goodput::begin_again() {
  enter(kStart);
  before_ = {};
  since_ = {};
  start_ = entered_;
  before_[kLost] = start_ - first_start_;
}

void Goodput::resumed(const Json& saved) {
  std::array<double, kKinds> seconds = {};
  if (!saved.is_object()) return;
  const auto number = [&](std::string_view key) {
    const auto found = saved.find(key);
    return found != saved.end() && found->is_number() ? found->get<double>() : -1;
  };
  for (int i = 0; i < kKinds; ++i) {
    seconds[i] = number(name(static_cast<Kind>(i)));
    if (seconds[i] < 0) return;
  }
  const double first = number("first_start"), then = number("saved");
  const auto stops = saved.find("stops");
  if (first < 0 || then < 0 || stops == saved.end() || !stops->is_boolean()) return;
  // A clock that was set back makes no negative times.
  const double between = std::max(start_ - then, 0.0);
  before_ = seconds;
  before_[stops->get<bool>() ? kStopped : kLost] += between;
  first_start_ = first;
}

std::array<double, Goodput::kKinds> Goodput::seconds() const {
  std::array<double, kKinds> result = before_;
  for (int i = 0; i < kKinds; ++i) result[i] += since_[i];
  result[kind_] += now() - entered_;
  return result;
}

double Goodput::wall_seconds() const { return now() - first_start_; }

Json Goodput::to_json(bool stops) const {
  Json json = {{"first_start", first_start_}, {"saved", now()}, {"stops", stops}};
  const auto all = seconds();
  for (int i = 0; i < kKinds; ++i) json[std::string(name(static_cast<Kind>(i)))] = all[i];
  return json;
}

std::string_view Goodput::name(Kind kind) {
  static constexpr std::string_view kNames[kKinds] = {
      "start", "compile", "training", "data_wait", "checkpoint", "validation", "lost", "stopped"};
  return kNames[kind];
}

std::string to_text(const std::array<double, Goodput::kKinds>& seconds) {
  std::vector<int> order(Goodput::kKinds);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return seconds[a] > seconds[b]; });
  const double all = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  std::string text;
  for (const int i : order) {
    if (seconds[i] <= 0) continue;
    std::string kind(Goodput::name(static_cast<Goodput::Kind>(i)));
    std::replace(kind.begin(), kind.end(), '_', ' ');
    str_append(&text, text.empty() ? "" : ", ", kind,
               absl::StrFormat(" %.1f s (%.1f %%)", seconds[i], 100 * seconds[i] / all));
  }
  return text;
}

}  // namespace tessera
