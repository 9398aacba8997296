#include "plugins/cpu/collectives/meeting.h"

#include <utility>

namespace tessera::pjrt_cpu {
namespace {

// g++ 12's thread sanitizer does not know how a condition is waited for by the steady clock, and
// takes the mutex for held meanwhile.
#ifdef __SANITIZE_THREAD__
auto by_a_known_clock(Deadline deadline) {
  return std::chrono::system_clock::now() + (deadline - std::chrono::steady_clock::now());
}
#else
Deadline by_a_known_clock(Deadline deadline) { return deadline; }
#endif

}  // namespace

void Meeting::throw_if_failed() const {
  if (failure_) throw *failure_;
}

// All others wait for steps_ to change, so nothing else happens here while `then` runs.
void Meeting::run(std::unique_lock<std::mutex>& lock, const std::function<void()>& then) {
  std::optional<Failure> failure;
  if (!failure_ && then) {
    lock.unlock();
    try {
      then();
    } catch (const Failure& thrown) {
      failure = thrown;
    } catch (const std::exception& thrown) {
      failure = Failure(Failure::kInternal, thrown.what());
    }
    lock.lock();
  }
  if (failure) failure_ = failure;
  arrived_ = 0;
  ++steps_;
  changed_.notify_all();
}

void Meeting::arrive(int index, Share share, Deadline deadline, const std::function<void()>& then) {
  std::unique_lock lock(mutex_);
  throw_if_failed();
  shares_.at(index) = std::move(share);
  if (++arrived_ == shares_.size()) {
    complete_ = true;
    run(lock, then);
    throw_if_failed();
    return;
  }
  const auto over = [&] { return steps_ > 0 || (failure_.has_value() && !complete_); };
  if (!changed_.wait_until(lock, by_a_known_clock(deadline), over) && !complete_) {
    failure_ = Failure(Failure::kDeadlineExceeded,
                       std::to_string(shares_.size() - arrived_) + " of " +
                           std::to_string(shares_.size()) +
                           " devices of this process did not come to a collective within the time "
                           "of the create option 'collective_timeout_ms'");
    changed_.notify_all();
  }
  changed_.wait(lock, over);  // where all had come just before the deadline
  throw_if_failed();
}

void Meeting::step(const std::function<void()>& then) {
  std::unique_lock lock(mutex_);
  const int64_t before = steps_;
  if (++arrived_ == shares_.size()) {
    run(lock, then);
  } else {
    changed_.wait(lock, [&] { return steps_ > before; });
  }
  throw_if_failed();
}

void Meeting::fail(const Failure& failure) {
  std::lock_guard lock(mutex_);
  if (complete_ || failure_) return;
  failure_ = failure;
  changed_.notify_all();
}

}  // namespace tessera::pjrt_cpu
