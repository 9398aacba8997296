#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "plugins/cpu/collectives/failure.h"
#include "plugins/cpu/collectives/mesh.h"
#include "plugins/cpu/collectives/scratch.h"

namespace tessera::pjrt_cpu {

/// What one device brings to a collective. Which fields count depends on the collective.
struct Share {
  int rank = 0;
  const void* in = nullptr;
  void* out = nullptr;
  std::vector<const void*> ins;  ///< all-to-all: a block for each rank
  std::vector<void*> outs;
  std::optional<int> source;  ///< collective-permute
  std::vector<int> targets;
};

/// The devices of this process in one collective, each in a thread of its own. They arrive, then go
/// from step to step together. Safe to use from these threads, and fail() from any.
class Meeting {
 public:
  explicit Meeting(int expected) : shares_(expected) {}

  /// Puts a device's share at `index` and waits for the others; the last one runs `then` before any
  /// goes on. Throws Failure: DEADLINE_EXCEEDED when the others do not come, what fail() was
  /// given, or what `then` threw, the same in all threads.
  void arrive(int index, Share share, Deadline deadline, const std::function<void()>& then);
  /// The same for a later step: waits as long as it takes, since every thread comes, so that
  /// nobody's memory goes away while others read it.
  void step(const std::function<void()>& then);

  /// Of all devices, once all have arrived.
  const std::vector<Share>& shares() const { return shares_; }

  /// Memory that all use between two steps, freed by the last one that leaves. Set in a `then`.
  void set_scratch(std::unique_ptr<Scratch> scratch) { scratch_ = std::move(scratch); }
  const Scratch& scratch() const { return *scratch_; }

  /// Lets those that wait for others to arrive fail. Later than that nothing happens.
  void fail(const Failure& failure);

 private:
  void run(std::unique_lock<std::mutex>& lock, const std::function<void()>& then);
  void throw_if_failed() const;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Share> shares_;
  std::unique_ptr<Scratch> scratch_;
  size_t arrived_ = 0;     // guarded by mutex_, as all below
  int64_t steps_ = 0;      // steps that are over
  bool complete_ = false;  // all have arrived
  std::optional<Failure> failure_;
};

}  // namespace tessera::pjrt_cpu
