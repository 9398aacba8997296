#include "tessera/runtime/launch_order.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <utility>

#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "tessera/base/hash.h"
#include "tessera/base/json.h"
#include "tessera/base/log.h"
#include "tessera/base/random_id.h"
#include "tessera/runtime/launch_record.h"

namespace tessera {
namespace {

constexpr size_t kKept = 1024;     // launches that this process remembers
constexpr size_t kPublished = 64;  // and shows
constexpr size_t kPeersALook = 8;
constexpr size_t kDevicesShown = 8;
constexpr absl::Duration kLongestAnswer = absl::Seconds(3), kAskAgain = absl::Milliseconds(50);

uint64_t hash(std::string_view text) { return hash_bytes(std::as_bytes(std::span(text))); }

// Not the sum of its parts, so that an order counts.
uint64_t chain(uint64_t digest, uint64_t next) {
  digest ^= next + 0x9e3779b97f4a7c15 + (digest << 6) + (digest >> 2);
  digest *= 0xff51afd7ed558ccd;
  return digest ^ (digest >> 32);
}

std::string mesh_text(const Mesh& mesh) {
  const auto ids = mesh.device_ids();
  const size_t shown = ids.size() <= kDevicesShown ? ids.size() : kDevicesShown - 1;
  std::string devices = absl::StrJoin(ids.begin(), ids.begin() + shown, ", ");
  if (shown < ids.size()) str_append(&devices, ", ..., ", ids.back());
  return str_cat(to_string(mesh), " (devices ", devices, ")");
}

uint64_t program_hash(std::string_view name, std::string_view text, const Mesh& mesh) {
  uint64_t result = chain(hash(name), hash(text));
  for (const MeshAxis& axis : mesh.axes())
    result = chain(chain(result, hash(axis.name)), axis.size);
  for (const int64_t id : mesh.device_ids()) result = chain(result, id);
  return result;
}

// What never goes back.
absl::Duration now() {
  return absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace

LaunchOrder::LaunchOrder(LaunchOrderOptions options)
    : options_(std::move(options)),
      start_(random_id()),
      thread_("launch_order", [this] { run(); }) {}

LaunchOrder::~LaunchOrder() { stop(); }

void LaunchOrder::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

const LaunchOrder::Program* LaunchOrder::add(std::string_view name, std::string_view text,
                                             const Mesh& mesh,
                                             const std::vector<int64_t>& processes) {
  std::vector<int> members(processes.begin(), processes.end());
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  const uint64_t hash = program_hash(name, text, mesh);
  const std::lock_guard lock(mutex_);
  size_t group = 0;
  while (group < groups_.size() && groups_[group].processes != members) ++group;
  if (group == groups_.size()) groups_.push_back({.processes = std::move(members)});
  for (const auto& program : programs_)
    if (program->hash == hash && program->name == name && program->group == group)
      return program.get();
  programs_.push_back(
      std::make_unique<const Program>(std::string(name), mesh_text(mesh), hash, group));
  return programs_.back().get();
}

Status LaunchOrder::begin(const Program& program) {
  const absl::Duration when = now();
  const std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(failure_);
  Group& group = groups_[program.group];
  const uint64_t before = std::exchange(group.digest, chain(group.digest, program.hash));
  launches_.push_back({&program, ++group.count, before, group.digest, when});
  if (launches_.size() > kKept) launches_.pop_front();
  note_change();
  return absl::OkStatus();
}

void LaunchOrder::withdraw() {
  const std::lock_guard lock(mutex_);
  if (launches_.empty()) return;
  const Launch last = launches_.back();
  launches_.pop_back();
  Group& group = groups_[last.program->group];
  --group.count;
  group.digest = last.before;
  note_change();
}

// Wakes the thread where it sleeps because all was published.
void LaunchOrder::note_change() {
  if (++sequence_ == published_.load(std::memory_order_relaxed) + 1) changed_.notify_all();
}

Status LaunchOrder::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

Status LaunchOrder::explain(const Status& error) {
  if (error.ok()) return error;
  const auto end = std::chrono::steady_clock::now() + absl::ToChronoMilliseconds(kLongestAnswer);
  std::unique_lock lock(mutex_);
  const auto over = [&] { return stopped_ || !failure_.ok() || explained_ == sequence_; };
  while (!over() && std::chrono::steady_clock::now() < end) {
    const int64_t ask = ++asked_;
    changed_.notify_all();
    answered_.wait_until(lock, end, [&] { return looked_ >= ask || over(); });
    if (!pending_) break;
    // Others may be about to publish what they launched.
    answered_.wait_for(lock, absl::ToChronoMilliseconds(kAskAgain), over);
  }
  explained_ = sequence_;  // not every error that one death causes is to take so long
  return failure_.ok() ? error : failure_;
}

void LaunchOrder::excuse() {
  const std::lock_guard lock(mutex_);
  explained_ = sequence_;
  answered_.notify_all();
}

void LaunchOrder::begin_again(const std::string& epoch) {
  const std::lock_guard lock(mutex_);
  epoch_ = epoch;
  for (Group& group : groups_) group.count = 0, group.digest = 0;
  launches_.clear();
  failure_ = absl::OkStatus();
  note_change();
}

// ---- the thread

void LaunchOrder::run() {
  std::unique_lock lock(mutex_);
  const absl::Duration interval =
      std::max(options_.interval, absl::Milliseconds(10) * options_.processes);
  const auto urgent = [&] { return stopped_ || asked_ > looked_; };
  while (true) {
    changed_.wait(lock, [&] { return urgent() || pending_ || sequence_ > published_; });
    changed_.wait_for(lock, absl::ToChronoMilliseconds(interval), urgent);
    if (stopped_) break;
    const int64_t asked = asked_;
    const bool is_asked = asked > looked_;
    const bool over = !failure_.ok();
    lock.unlock();
    if (!over) look(is_asked);
    lock.lock();
    looked_ = std::max(looked_, asked);
    answered_.notify_all();
    if (over) {  // until it begins again
      published_ = sequence_;
      pending_ = false;
    }
  }
  answered_.notify_all();
  const bool was_seen = published_ > 0;
  lock.unlock();
  int64_t sequence = 0;
  LaunchRecord own = snapshot(&sequence);
  own.ended = true;
  if (was_seen) publish(own);
}

LaunchRecord LaunchOrder::snapshot(int64_t* sequence) const {
  LaunchRecord record;
  record.start = start_;
  std::vector<Group> groups;
  std::deque<Launch> launches;
  {
    const std::lock_guard lock(mutex_);
    record.epoch = epoch_;
    groups = groups_;
    launches = launches_;
    *sequence = sequence_;
  }
  std::vector<std::string> names;
  for (const Group& group : groups) {
    names.push_back(group_name(group.processes));
    record.groups[names.back()] = {group.processes, group.count, group.digest};
  }
  std::map<const Program*, size_t> place;
  for (const Launch& launch : launches) {
    const auto [found, is_new] = place.emplace(launch.program, place.size());
    if (is_new) {
      const Program& program = *launch.program;
      record.programs.push_back({program.name, program.mesh, program.hash, names[program.group]});
    }
    record.launches.push_back({found->second, launch.number, launch.digest, launch.when});
  }
  return record;
}

std::string LaunchOrder::verdict_key(const LaunchRecord& own) const {
  return key(str_cat("verdict/", own.epoch));
}

void LaunchOrder::publish(const LaunchRecord& own) {
  const Status status =
      options_.key_values->replace(key(str_cat(options_.process)), own.to_text(kPublished));
  // Without the store there is nobody to compare with, and others say that it is lost.
  if (!status.ok()) log_debug("order of launches: ", from_absl(status.message()));
}

void LaunchOrder::look(bool asked) {
  int64_t sequence = 0;
  const LaunchRecord own = snapshot(&sequence);
  if (published_ == 0)  // from before this process was started again
    other_history_ = options_.key_values->try_get(key(str_cat(options_.process))).ok();
  if (own.epoch != peers_epoch_) {
    peers_.clear();
    peers_epoch_ = own.epoch;
    other_history_ = false;
  }
  if (sequence > published_) publish(own);
  published_ = sequence;
  if (other_history_) {
    pending_ = false;
    return;
  }
  if (take_verdict(own, asked)) return;
  for (const int process : peers_to_read(sequence)) {
    if (look_at(process, own)) peers_[process].compared = sequence;
    if (!failure().ok()) return;
  }
  pending_ = !peers_to_read(sequence).empty();
}

// A verdict about others is taken only where something has failed here.
bool LaunchOrder::take_verdict(const LaunchRecord& own, bool asked) {
  const auto text = options_.key_values->try_get(verdict_key(own));
  if (!text.ok()) return false;
  const Json verdict = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!verdict.is_object() || !verdict.contains("message")) return false;
  const std::vector<int> processes = verdict.value("processes", std::vector<int>());
  const bool concerned =
      std::find(processes.begin(), processes.end(), options_.process) != processes.end();
  if (!asked && !concerned) return false;
  fail(verdict["message"].get<std::string>());
  return true;
}

// Some of those that have not been seen to have launched the same, in turn.
std::vector<int> LaunchOrder::peers_to_read(int64_t sequence) {
  std::vector<int> result;
  int next = next_peer_;
  for (int i = 0; i < options_.processes && result.size() < kPeersALook; ++i) {
    next = (next + 1) % options_.processes;
    if (next != options_.process && peers_[next].compared != sequence) result.push_back(next);
  }
  if (!result.empty()) next_peer_ = result.back();
  return result;
}

// Whether all that this process launched with the other one is known to be the same there.
bool LaunchOrder::look_at(int process, const LaunchRecord& own) {
  const auto text = options_.key_values->try_get(key(str_cat(process)));
  if (!text.ok()) return all_there(process, own, nullptr);
  const Result<LaunchRecord> record = LaunchRecord::parse(*text);
  if (!record.ok()) return true;
  if (record->epoch != own.epoch) return all_there(process, own, nullptr);
  Peer& peer = peers_[process];
  if (peer.start == 0) peer.start = record->start;
  if (record->start != peer.start && !peer.other_history) {
    peer.other_history = true;
    log_warning("process ", process,
                " was started again: the order of launches on its devices is "
                "not checked any more");
  }
  if (peer.other_history) return true;
  const std::string difference = process < options_.process
                                     ? find_divergence(process, *record, options_.process, own)
                                     : find_divergence(options_.process, own, process, *record);
  if (!difference.empty()) {
    diverged(own, difference);
    return false;
  }
  return all_there(process, own, &*record);
}

// Null: the other one has launched nothing. Warns of one that is behind for long.
bool LaunchOrder::all_there(int process, const LaunchRecord& own, const LaunchRecord* peer) {
  bool all = true;
  for (const auto& [name, group] : own.groups) {
    if (!std::binary_search(group.processes.begin(), group.processes.end(), process)) continue;
    int64_t there = 0;
    if (peer != nullptr && peer->groups.contains(name)) there = peer->groups.at(name).count;
    if (there >= group.count) continue;
    all = false;
    const LaunchRecord::Launch* next = own.find(name, there + 1);
    if (next == nullptr || now() - next->when < options_.behind_after) continue;
    int64_t& warned = peers_[process].warned[name];
    if (std::exchange(warned, there + 1) == there + 1) continue;
    const LaunchRecord::Launch* last = peer == nullptr ? nullptr : peer->find(name, there);
    log_warning("process ", process, peer != nullptr && peer->ended ? " has ended and" : "",
                " has not launched operation ", there + 1, " among processes ", name, ", which is ",
                to_string(own.programs[next->program]), " on process ", options_.process, " since ",
                absl::ToInt64Seconds(now() - next->when), " s; its last one among them is ",
                there == 0 ? "none yet"
                : last == nullptr
                    ? str_cat("operation ", there)
                    : str_cat("operation ", there, ", ", to_string(peer->programs[last->program])));
  }
  return all;
}

// Written down before anything is aborted, so that whoever sees an error finds the reason.
void LaunchOrder::diverged(const LaunchRecord& own, const std::string& difference) {
  const std::string message =
      str_cat(difference,
              ". Programs over devices of several processes must be launched by all of these in "
              "the same order");
  std::set<int> concerned;
  for (const auto& [name, group] : own.groups)
    concerned.insert(group.processes.begin(), group.processes.end());
  const Json verdict = {{"processes", concerned}, {"message", message}};
  const Status put = options_.key_values->put(
      verdict_key(own), verdict.dump(-1, ' ', false, Json::error_handler_t::replace));
  // Another one may have been first: then its words are everyone's.
  if (!put.ok() && take_verdict(own, /*asked=*/true)) return;
  fail(message);
}

void LaunchOrder::fail(const std::string& message) {
  {
    const std::lock_guard lock(mutex_);
    if (!failure_.ok()) return;
    failure_ = failed_precondition(message);
    answered_.notify_all();
  }
  log_error(message);
  options_.abort();
}

}  // namespace tessera
