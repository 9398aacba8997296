#include "tessera/coord/sync_point.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "tessera/base/strings.h"

namespace tessera::coord {
namespace {

constexpr absl::Duration kListen =
    absl::Milliseconds(500);                           // until it looks whether it should stop
constexpr absl::Duration kAgree = absl::Seconds(600);  // all are at a step's end by then

}  // namespace

SyncPoint::SyncPoint(Client& client, std::string name)
    : client_(client), name_(str_cat("tessera/sync/", name)) {
  thread_ = Thread("coord-sync", [this] { listen(); });
}

SyncPoint::~SyncPoint() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  begun_.notify_all();
}

Status SyncPoint::notice() {
  const Status status = client_.insert(str_cat(name_, "/notice"), str_cat(client_.process()));
  return absl::IsAlreadyExists(status) ? absl::OkStatus() : status;
}

void SyncPoint::listen() {
  while (!stopping_) {
    const Result<std::string> noticed = client_.get(str_cat(name_, "/notice"), kListen);
    if (absl::IsDeadlineExceeded(noticed.status())) continue;
    if (!noticed.ok()) return;  // the client's failure, which everyone hears of anyway
    std::unique_lock lock(mutex_);
    // Where no process knows yet at which step it begins, they would agree on one that is past.
    begun_.wait(lock, [&] { return last_step_ >= 0 || stopping_; });
    if (stopping_) return;
    const Result<int64_t> target = agree();
    if (target.ok()) {
      target_ = *target;
    } else {
      failed_ = annotate(target.status(), "agreeing on a step to stop at");
    }
    return;
  }
}

Result<int64_t> SyncPoint::agree() {
  RETURN_IF_ERROR(client_.insert(str_cat(name_, "/step/", client_.process()), str_cat(last_step_)));
  RETURN_IF_ERROR(client_.barrier(name_, kAgree));
  ASSIGN_OR_RETURN(const auto steps, client_.list(str_cat(name_, "/step/")));
  int64_t latest = -1;
  for (const auto& [key, text] : steps) {
    int64_t step = 0;
    if (!absl::SimpleAtoi(text, &step)) return internal_error(key, " holds '", text, "'");
    latest = std::max(latest, step);
  }
  return latest + 1;
}

Result<bool> SyncPoint::reached(int64_t step) {
  std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(failed_);
  if (std::exchange(last_step_, step) < 0) begun_.notify_all();
  return step == target_;
}

}  // namespace tessera::coord
