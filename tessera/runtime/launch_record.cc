#include "tessera/runtime/launch_record.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tessera/base/json.h"

namespace tessera {
namespace {

bool has(const LaunchRecord::Group& group, int process) {
  return std::binary_search(group.processes.begin(), group.processes.end(), process);
}

std::string operation(int64_t number, const std::string& group) {
  return str_cat("operation ", number, " among processes ", group);
}

// Two that read alike are told apart by their hashes.
std::string two_programs(int p, const LaunchRecord::Program& of_p, int q,
                         const LaunchRecord::Program& of_q) {
  std::string a = to_string(of_p), b = to_string(of_q);
  if (a == b) {
    absl::StrAppendFormat(&a, " (program %016x)", of_p.hash);
    absl::StrAppendFormat(&b, " (program %016x)", of_q.hash);
  }
  return str_cat(a, " on process ", p, ", and ", b, " on process ", q);
}

std::string difference_in(const std::string& group, int64_t both, int p, const LaunchRecord& of_p,
                          int q, const LaunchRecord& of_q) {
  const auto p_digest = of_p.digest(group, both), q_digest = of_q.digest(group, both);
  if (!p_digest || !q_digest || *p_digest == *q_digest) return "";
  for (const LaunchRecord::Launch& launch : of_q.launches) {
    const LaunchRecord::Program& program = of_q.programs[launch.program];
    if (program.group != group) continue;
    const LaunchRecord::Launch* other = of_p.find(group, launch.number);
    if (other == nullptr || other->digest == launch.digest) continue;
    const LaunchRecord::Program& others = of_p.programs[other->program];
    if (others.hash == program.hash) break;  // they differed before what the records reach
    return str_cat("processes launch different programs: ", operation(launch.number, group), " is ",
                   two_programs(p, others, q, program));
  }
  return str_cat("processes ", p, " and ", q, " launch different programs: at or before ",
                 operation(both, group));
}

// Launches of different groups that both processes are in.
std::string order_of_groups(int p, const LaunchRecord& of_p, int q, const LaunchRecord& of_q) {
  const LaunchRecord::Launch* last = nullptr;  // of p, among those of q that came so far
  for (const LaunchRecord::Launch& launch : of_q.launches) {
    const std::string& group = of_q.programs[launch.program].group;
    const LaunchRecord::Launch* own = of_p.find(group, launch.number);
    if (own == nullptr || !has(of_p.groups.at(group), q)) continue;
    if (last != nullptr && own < last) {
      const auto text = [&](const LaunchRecord::Launch& one) {
        const LaunchRecord::Program& program = of_p.programs[one.program];
        return str_cat(operation(one.number, program.group), " (", to_string(program), ")");
      };
      return str_cat("processes launch programs in different orders: process ", p, " launches ",
                     text(*own), " before ", text(*last), ", and process ", q, " after it");
    }
    last = own;
  }
  return "";
}

}  // namespace

const LaunchRecord::Launch* LaunchRecord::find(const std::string& group, int64_t number) const {
  for (auto launch = launches.rbegin(); launch != launches.rend(); ++launch)
    if (launch->number == number && programs[launch->program].group == group) return &*launch;
  return nullptr;
}

std::optional<uint64_t> LaunchRecord::digest(const std::string& group, int64_t number) const {
  const auto found = groups.find(group);
  if (found == groups.end()) return std::nullopt;
  if (found->second.count == number) return found->second.digest;
  const Launch* launch = find(group, number);
  if (launch == nullptr) return std::nullopt;
  return launch->digest;
}

std::string LaunchRecord::to_text(size_t most) const {
  Json json = {{"start", start}, {"epoch", epoch}, {"ended", ended}};
  json["groups"] = Json::object();
  for (const auto& [name, group] : groups)
    json["groups"][name] = {group.processes, group.count, group.digest};
  std::map<size_t, size_t> place;  // of the programs that are written
  json["programs"] = Json::array();
  json["launches"] = Json::array();
  const size_t first = launches.size() - std::min(most, launches.size());
  for (size_t i = first; i < launches.size(); ++i) {
    const Launch& launch = launches[i];
    const auto [found, is_new] = place.emplace(launch.program, place.size());
    if (is_new) {
      const Program& program = programs[launch.program];
      json["programs"].push_back({program.name, program.mesh, program.hash, program.group});
    }
    json["launches"].push_back({found->second, launch.number, launch.digest});
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<LaunchRecord> LaunchRecord::parse(std::string_view text) {
  LaunchRecord record;
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  try {
    json.at("start").get_to(record.start);
    json.at("epoch").get_to(record.epoch);
    json.at("ended").get_to(record.ended);
    for (const auto& [name, group] : json.at("groups").items())
      record.groups[name] = {group.at(0), group.at(1), group.at(2)};
    for (const Json& program : json.at("programs"))
      record.programs.push_back({program.at(0), program.at(1), program.at(2), program.at(3)});
    for (const Json& launch : json.at("launches")) {
      record.launches.push_back({launch.at(0), launch.at(1), launch.at(2), {}});
      if (record.launches.back().program >= record.programs.size())
        return data_loss("a record of launches names a program that it does not have");
    }
  } catch (const Json::exception& error) {
    return data_loss("a record of launches is not one: ", error.what());
  }
  return record;
}

std::string group_name(const std::vector<int>& processes) { return absl::StrJoin(processes, ", "); }

std::string find_divergence(int p, const LaunchRecord& of_p, int q, const LaunchRecord& of_q) {
  for (const auto& [name, group] : of_p.groups) {
    const auto other = of_q.groups.find(name);
    if (other == of_q.groups.end() || !has(group, p) || !has(group, q)) continue;
    const int64_t both = std::min(group.count, other->second.count);
    if (both == 0) continue;
    std::string found = difference_in(name, both, p, of_p, q, of_q);
    if (!found.empty()) return found;
  }
  return order_of_groups(p, of_p, q, of_q);
}

std::string to_string(const LaunchRecord::Program& program) {
  return str_cat("'", program.name, "' over ", program.mesh);
}

}  // namespace tessera
