#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <vector>

namespace tessera::pjrt_cpu {

/// The collectives that devices of this process are in, for who asks what a process waits for. Safe
/// to use from several threads.
class UnderWay {
  struct Entry {
    const char* name;
    const std::vector<int64_t>* devices;
    std::chrono::steady_clock::time_point since;
  };

 public:
  /// One device is in a collective while this lives. `name` and `devices` outlive it.
  class Scope {
   public:
    Scope(UnderWay& under_way, const char* name, const std::vector<int64_t>& devices);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    UnderWay& under_way_;
    std::list<Entry>::iterator entry_;
  };

  /// A line each: "all-reduce among devices 0, 1, 2, 3 for 12.5 s". The oldest first.
  std::string to_text() const;

 private:
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // guarded by mutex_; in the order in which they came
};

}  // namespace tessera::pjrt_cpu
