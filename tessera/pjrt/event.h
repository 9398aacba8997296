#pragma once

#include <functional>

#include "tessera/base/status.h"

struct PJRT_Api;
struct PJRT_Event;

namespace tessera::pjrt {

/// The end of something asynchronous, with its status. Move-only; destroying it does not wait.
/// Safe to use from several threads, except for moving and destroying.
class Event {
 public:
  /// An event that is ready and OK.
  Event() = default;
  /// Takes ownership of `event`.
  Event(const PJRT_Api* api, PJRT_Event* event) : api_(api), event_(event) {}
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;
  ~Event();

  /// Blocks until ready; returns how the work ended.
  Status await() const;
  /// Whether await() would return at once.
  bool is_ready() const;
  /// Calls `callback` once, with how the work ended: at once when it is ready, else from a thread
  /// of the plugin. The callback must be quick and must not wait for other events. The event itself
  /// may be destroyed before.
  Status on_ready(std::function<void(const Status&)> callback) const;

 private:
  const PJRT_Api* api_ = nullptr;
  PJRT_Event* event_ = nullptr;
};

}  // namespace tessera::pjrt
