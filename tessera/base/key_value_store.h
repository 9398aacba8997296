#pragma once

#include <string>

#include "absl/time/time.h"
#include "tessera/base/status.h"

namespace tessera {

/// A store of small values that several processes share: what they meet through. Safe to use from
/// several threads.
class KeyValueStore {
 public:
  virtual ~KeyValueStore() = default;
  /// ALREADY_EXISTS where the key has a value.
  virtual Status put(const std::string& key, const std::string& value) = 0;
  /// Sets the value, whether or not there is one.
  virtual Status replace(const std::string& key, const std::string& value) = 0;
  /// Waits for a value; DEADLINE_EXCEEDED.
  virtual Result<std::string> get(const std::string& key, absl::Duration timeout) = 0;
  /// NOT_FOUND where there is none yet.
  virtual Result<std::string> try_get(const std::string& key) = 0;
};

}  // namespace tessera
