#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "tessera/base/clock.h"
#include "tessera/base/status.h"
#include "tessera/pjrt/client.h"

namespace tessera {

/// A compiled program with what compiling it took.
struct CachedExecutable {
  pjrt::Executable executable;
  double compile_seconds;
};

/// Compiled programs in memory, by program text and compile options. Safe to use from several
/// threads: a program that two ask for at the same time is compiled once, and others are not held
/// up by it.
class ExecutableCache {
 public:
  /// `clock` must outlive the cache.
  ExecutableCache(std::shared_ptr<const pjrt::Client> client, const Clock& clock)
      : client_(std::move(client)), clock_(clock) {}

  struct Lookup {
    std::shared_ptr<const CachedExecutable> program;
    /// Whether it was there already.
    bool hit;
  };
  /// Failures are not kept: asking again compiles again.
  Result<Lookup> get(std::string_view text, const pjrt::CompileOptions& options);

  struct Counts {
    int64_t compilations = 0;
    int64_t hits = 0;
    double compile_seconds = 0;
  };
  Counts counts() const;

 private:
  struct Slot {
    std::mutex mutex;
    std::shared_ptr<const CachedExecutable> program;  // guarded by mutex
  };
  std::shared_ptr<Slot> slot(std::string key);

  std::shared_ptr<const pjrt::Client> client_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Slot>> slots_;  // guarded by mutex_
  Counts counts_;                                       // guarded by mutex_
};

}  // namespace tessera
