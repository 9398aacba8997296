#include "tessera/pjrt/event.h"

#include <memory>
#include <utility>

#include "tessera/pjrt/api_internal.h"

namespace tessera::pjrt {
namespace {

struct PendingCallback {
  const PJRT_Api* api;
  std::function<void(const Status&)> function;
};

void run_callback(PJRT_Error* error, void* user_arg) {
  std::unique_ptr<PendingCallback> pending(static_cast<PendingCallback*>(user_arg));
  pending->function(take_error(pending->api, error));
}

}  // namespace

Event::Event(Event&& other) noexcept
    : api_(other.api_), event_(std::exchange(other.event_, nullptr)) {}

Event& Event::operator=(Event&& other) noexcept {
  std::swap(api_, other.api_);
  std::swap(event_, other.event_);
  return *this;
}

Event::~Event() {
  if (event_ == nullptr) return;
  PJRT_ARGS(PJRT_Event_Destroy, args);
  args.event = event_;
  PJRT_CALL(api_, PJRT_Event_Destroy, args).IgnoreError();
}

Status Event::await() const {
  if (event_ == nullptr) return absl::OkStatus();
  PJRT_ARGS(PJRT_Event_Await, args);
  args.event = event_;
  return PJRT_CALL(api_, PJRT_Event_Await, args);
}

bool Event::is_ready() const {
  if (event_ == nullptr) return true;
  PJRT_ARGS(PJRT_Event_IsReady, args);
  args.event = event_;
  // An event that cannot be asked would fail in await() at once too.
  return !PJRT_CALL(api_, PJRT_Event_IsReady, args).ok() || args.is_ready;
}

Status Event::on_ready(std::function<void(const Status&)> callback) const {
  if (event_ == nullptr) {
    callback(absl::OkStatus());
    return absl::OkStatus();
  }
  auto pending = std::make_unique<PendingCallback>(PendingCallback{api_, std::move(callback)});
  PJRT_ARGS(PJRT_Event_OnReady, args);
  args.event = event_;
  args.callback = run_callback;
  args.user_arg = pending.get();
  // The callback may already have freed it when the call returns.
  PendingCallback* handed_over = pending.release();
  Status status = PJRT_CALL(api_, PJRT_Event_OnReady, args);
  if (!status.ok()) delete handed_over;
  return status;
}

}  // namespace tessera::pjrt
