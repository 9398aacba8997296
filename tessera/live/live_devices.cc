#include "tessera/live/live_devices.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tessera/runtime/launch_order.h"

namespace tessera {
namespace {

constexpr char kFailedDevices[] = "tessera/failed_devices";

const coord::ProcessId* find(const std::vector<coord::ProcessId>& all, int process) {
  const auto found = std::ranges::find(all, process, &coord::ProcessId::process);
  return found == all.end() ? nullptr : &*found;
}

// Those of `before` that are not in `after` as what they were.
std::vector<coord::ProcessId> failed(const std::vector<coord::ProcessId>& before,
                                     const std::vector<coord::ProcessId>& after) {
  std::vector<coord::ProcessId> result;
  for (const coord::ProcessId& id : before)
    if (std::ranges::find(after, id) == after.end()) result.push_back(id);
  return result;
}

Status process_failure(const std::vector<coord::ProcessId>& lost,
                       const std::vector<coord::ProcessId>& after,
                       const std::vector<int64_t>& devices, const Status& own) {
  std::vector<std::string> names;
  for (const coord::ProcessId& id : lost)
    names.push_back(str_cat("process ", id.process,
                            find(after, id.process) ? " was started again" : " died or left"));
  Status status = absl::UnavailableError(str_cat(
      "while a block ran, ", absl::StrJoin(names, ", "), ": devices ", absl::StrJoin(devices, ", "),
      " failed", own.ok() ? "" : str_cat(" (the block's own error: ", own.ToString(), ")")));
  status.SetPayload(kFailedDevices, absl::Cord(absl::StrJoin(devices, ",")));
  return status;
}

}  // namespace

std::vector<int64_t> failed_devices(const Status& status) {
  std::vector<int64_t> devices;
  const auto payload = status.GetPayload(kFailedDevices);
  if (!payload) return devices;
  for (const absl::string_view id : absl::StrSplit(std::string(*payload), ','))
    if (int64_t number = 0; absl::SimpleAtoi(id, &number)) devices.push_back(number);
  return devices;
}

LiveDevices::LiveDevices(Runtime& runtime, coord::Client& coordinator, MemberWatch& watch,
                         LiveDevicesOptions options)
    : runtime_(runtime), coordinator_(coordinator), watch_(watch), options_(std::move(options)) {}

LiveDevices::~LiveDevices() {
  errors_.reset();
  watch_.resume();
  if (attached_) watch_.detach();
}

Result<std::unique_ptr<LiveDevices>> LiveDevices::create(Runtime& runtime,
                                                         coord::Client& coordinator,
                                                         MemberWatch& watch,
                                                         LiveDevicesOptions options) {
  std::unique_ptr<LiveDevices> live(
      new LiveDevices(runtime, coordinator, watch, std::move(options)));
  RETURN_IF_ERROR(live->check_and_list());
  live->attached_ = !watch.is_attached();
  if (live->attached_) watch.attach(runtime.client());
  return live;
}

Status LiveDevices::check_and_list() {
  if (!coordinator_.recoverable()) {
    return failed_precondition(
        "live devices: to the coordinator the death of one process is that of all: start it with "
        "--recoverable, or by tessera launch --on-failure elastic");
  }
  std::set<int> of_client, of_list;
  for (const pjrt::Device& device : runtime_.client().devices())
    of_client.insert(device.process_index());
  const int own = coordinator_.process();
  if (runtime_.client().process_index() != own ||
      static_cast<int>(of_client.size()) != coordinator_.processes()) {
    return failed_precondition("live devices: the runtime has devices of ", of_client.size(),
                               " processes and is process ", runtime_.client().process_index(),
                               ", to the coordinator this is process ", own, " of ",
                               coordinator_.processes(), ": give Runtime::create the group");
  }
  std::set<int64_t> listed;
  std::vector<int64_t> ids = options_.devices;
  for (const pjrt::Device& device : runtime_.client().devices())
    if (options_.devices.empty()) ids.push_back(device.id());
  for (const int64_t id : ids) {
    const auto device = runtime_.client().device(static_cast<int>(id));
    if (!device.ok())
      return invalid_argument("live devices: ", from_absl(device.status().message()));
    if (!listed.insert(id).second)
      return invalid_argument("live devices: device ", id, " is in the list twice");
    devices_.emplace_back(id, device->process_index());
    of_list.insert(device->process_index());
  }
  if (!of_list.contains(own)) {
    return invalid_argument("live devices: none of the devices ", absl::StrJoin(ids, ", "),
                            " is of this process, ", own,
                            "; required: at least one, or leave the block to the others");
  }
  std::ranges::sort(devices_);
  processes_.assign(of_list.begin(), of_list.end());
  return absl::OkStatus();
}

std::vector<int64_t> LiveDevices::devices_of(const std::vector<coord::ProcessId>& processes) const {
  std::vector<int64_t> result;
  for (const auto& [device, process] : devices_)
    if (find(processes, process) != nullptr) result.push_back(device);
  return result;
}

Result<coord::LiveSet> LiveDevices::ask() {
  Result<coord::LiveSet> live = coordinator_.live_set(processes_, options_.timeout);
  if (live.ok()) watch_.take_live(*live);
  return live;
}

Status LiveDevices::run(const Body& body) {
  if (!next_) {
    ASSIGN_OR_RETURN(next_, ask());
  }
  const coord::LiveSet before = *std::exchange(next_, std::nullopt);
  begin(before);
  return end(before, body(devices_of(before.processes)));
}

void LiveDevices::begin(const coord::LiveSet& live) {
  // After a failure processes have launched different things, and one that is new has launched
  // nothing. All that are in the block see the same reason, so all begin again.
  launch_anew_ |= live.processes != block_ || !options_.share_errors;
  if (launch_anew_ && runtime_.launch_order() != nullptr)
    runtime_.launch_order()->begin_again(str_cat("live_devices/", live.round));
  launch_anew_ = false;
  watch_.resume();  // where the end of the one before was not heard of
  block_ = live.processes;
  if (!options_.share_errors) return;
  others_.clear();
  for (const coord::ProcessId& id : block_)
    if (id.process != coordinator_.process()) others_.push_back(id.process);
  if (errors_ == nullptr) {
    errors_ = std::make_unique<SharedErrors>(coordinator_, [this] {
      if (runtime_.launch_order() != nullptr) runtime_.launch_order()->excuse();
      watch_.cut_off(others_);
    });
  }
  errors_->begin(live.round);
}

Status LiveDevices::end(const coord::LiveSet& before, const Status& own) {
  if (errors_ != nullptr) {
    RETURN_IF_ERROR(errors_->end(own));
    // Nothing of a block that failed stays under way, nor does the next one use its connections.
    if (!own.ok()) watch_.cut_off(others_);
  }
  ASSIGN_OR_RETURN(next_, ask());
  Status result = own;
  if (errors_ != nullptr) {
    result = errors_->result(before.round);
    RETURN_IF_ERROR(coordinator_.failure());
    errors_->forget_older();
    if (own.ok() && !result.ok()) watch_.cut_off(others_);
    if (!result.ok()) watch_.resume();
  }
  const auto lost = failed(before.processes, next_->processes);
  launch_anew_ = !result.ok() || !lost.empty();
  if (lost.empty()) return result;
  return process_failure(lost, next_->processes, devices_of(lost), own);
}

}  // namespace tessera
