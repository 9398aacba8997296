#include "tessera/train/hang_verdict.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tessera/base/json.h"
#include "tessera/base/strings.h"

namespace tessera {
namespace {

// Whoever is not in the loop yet has come less far than who is, and who says nothing less still.
constexpr int64_t kSilent = std::numeric_limits<int64_t>::min();
constexpr int64_t kBeforeLoop = -1;

int64_t place(const std::map<int, ProcessReport>& reports, int process) {
  const auto found = reports.find(process);
  if (found == reports.end()) return kSilent;
  return found->second.trains ? found->second.position : kBeforeLoop;
}

std::string process_list(const std::vector<int>& processes) {
  return str_cat(processes.size() == 1 ? "process " : "processes ", absl::StrJoin(processes, ", "));
}

// "all-reduce among devices 0, 1 for 3.2 s" of several processes, without the time.
std::string collectives_of(const std::vector<int>& waiting,
                           const std::map<int, ProcessReport>& reports) {
  std::set<std::string> names;
  for (const int process : waiting) {
    const std::string& text = reports.at(process).collectives;
    for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty()))
      names.insert(std::string(line.substr(0, line.rfind(" for "))));
  }
  return absl::StrJoin(names, "; ");
}

std::string seconds_text(double seconds) { return absl::StrFormat("%.0f s", seconds); }

std::string message_of(const std::vector<int>& stuck, const std::vector<int>& waiting,
                       const std::map<int, ProcessReport>& reports,
                       std::string ProcessReport::*stack = &ProcessReport::stack) {
  std::string text;
  for (const int process : stuck) {
    const auto found = reports.find(process);
    if (!text.empty()) text += "\n";
    str_append(&text, "process ", process, " does not get on: ");
    if (found == reports.end()) {
      text += "it has not come to the start of training";
      continue;
    }
    const ProcessReport& report = found->second;
    str_append(&text, "for ", seconds_text(report.seconds), " it has been ", report.activity);
    if (!(report.*stack).empty()) str_append(&text, ", here:\n", report.*stack);
  }
  if (waiting.empty()) return text;
  if (!text.ends_with('\n')) text += "\n";
  str_append(&text, process_list(waiting), waiting.size() == 1 ? " has" : " have",
             " been waiting for that");
  const std::string collectives = collectives_of(waiting, reports);
  if (!collectives.empty()) str_append(&text, " in ", collectives);
  std::set<std::string> activities;
  for (const int process : waiting) activities.insert(reports.at(process).activity);
  str_append(&text, " (", absl::StrJoin(activities, "; "), ")");
  return text;
}

std::string message_of_all(const std::map<int, ProcessReport>& reports) {
  std::string text =
      "no process gets on, and all have come to the same place: they wait for each other, or "
      "for what carries their messages";
  for (const auto& [process, report] : reports) {
    str_append(&text, "\nprocess ", process, ": for ", seconds_text(report.seconds), " ",
               report.activity);
    const std::string collectives = collectives_of({process}, reports);
    if (!collectives.empty()) str_append(&text, ", in ", collectives);
  }
  return text;
}

}  // namespace

std::string ProcessReport::to_text() const {
  const Json json = {{"incarnation", incarnation},   {"trains", trains},
                     {"position", position},         {"activity", activity},
                     {"seconds", seconds},           {"stalled", stalled},
                     {"collectives", collectives},   {"stack", stack},
                     {"threads", threads},           {"steps", steps},
                     {"step_seconds", step_seconds}, {"own_seconds", own_seconds},
                     {"data_seconds", data_seconds}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<ProcessReport> ProcessReport::parse(const std::string& text) {
  ProcessReport report;
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return invalid_argument("a process's report is no JSON object: ", text);
  try {
    report = {.incarnation = json.at("incarnation"),
              .trains = json.at("trains"),
              .position = json.at("position"),
              .activity = json.at("activity"),
              .seconds = json.at("seconds"),
              .stalled = json.at("stalled"),
              .collectives = json.at("collectives"),
              .stack = json.at("stack"),
              .threads = json.at("threads"),
              .steps = json.at("steps"),
              .step_seconds = json.at("step_seconds"),
              .own_seconds = json.at("own_seconds"),
              .data_seconds = json.at("data_seconds")};
  } catch (const Json::exception& error) {
    return invalid_argument("a process's report: ", error.what());
  }
  return report;
}

HangVerdict judge_hang(int own, int processes, const std::map<int, ProcessReport>& reports) {
  if (processes == 1) {
    return {.is_final = true, .stuck = {own}, .message = message_of({own}, {}, reports)};
  }
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int process = 0; process < processes; ++process)
    least = std::min(least, place(reports, process));
  std::vector<int> behind, stalled_behind, others;
  for (int process = 0; process < processes; ++process) {
    const bool is_behind = place(reports, process) == least;
    (is_behind ? behind : others).push_back(process);
    const auto found = reports.find(process);
    if (is_behind && (found == reports.end() || found->second.stalled))
      stalled_behind.push_back(process);
  }
  if (!others.empty()) {
    // Those that have come further say who holds them up; and who is behind may be on the way.
    if (place(reports, own) == least || stalled_behind.empty()) return {};
    return {.is_final = true,
            .stuck = stalled_behind,
            .message = message_of(stalled_behind, others, reports)};
  }
  if (stalled_behind.size() < behind.size()) return {};
  std::vector<int> in_none, in_some;
  for (const int process : behind)
    (reports.at(process).collectives.empty() ? in_none : in_some).push_back(process);
  // Their training threads wait as all others do; what is stuck is another thread.
  if (!in_none.empty() && !in_some.empty()) {
    return {.is_final = true,
            .stuck = in_none,
            .message = message_of(in_none, in_some, reports, &ProcessReport::threads)};
  }
  return {.is_final = true, .stuck = {}, .message = message_of_all(reports)};
}

}  // namespace tessera
