#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>

namespace tessera::pjrt_cpu {

/// How long at least one of several threads has waited. Safe to use from all of them.
class WaitTime {
 public:
  class Scope {
   public:
    explicit Scope(WaitTime& time) : time_(time) { time_.begin(); }
    ~Scope() { time_.end(); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    WaitTime& time_;
  };

  /// Until now.
  std::chrono::nanoseconds total() const {
    std::lock_guard lock(mutex_);
    return waiting_ == 0 ? total_ : total_ + (Clock::now() - since_);
  }

 private:
  using Clock = std::chrono::steady_clock;
  void begin() {
    std::lock_guard lock(mutex_);
    if (waiting_++ == 0) since_ = Clock::now();
  }
  void end() {
    std::lock_guard lock(mutex_);
    if (--waiting_ == 0) total_ += Clock::now() - since_;
  }

  mutable std::mutex mutex_;
  int waiting_ = 0;  // guarded by mutex_, as all below
  Clock::time_point since_;
  std::chrono::nanoseconds total_{0};
};

}  // namespace tessera::pjrt_cpu
