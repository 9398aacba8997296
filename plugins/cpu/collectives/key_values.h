#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "xla/pjrt/c/pjrt_c_api.h"

namespace tessera::pjrt_cpu {

/// A store that all processes of a client share. Safe to use from several threads. All functions
/// throw Failure, with the code that the store gave.
class KeyValues {
 public:
  virtual ~KeyValues() = default;
  /// ALREADY_EXISTS where the key has a value.
  virtual void put(const std::string& key, const std::string& value) = 0;
  /// Waits for a value; DEADLINE_EXCEEDED.
  virtual std::string get(const std::string& key, std::chrono::milliseconds timeout) = 0;
  /// NOT_FOUND where there is none yet.
  virtual std::string try_get(const std::string& key) = 0;
};

/// The store behind the callbacks that PJRT_Client_Create was given, which must stay callable until
/// the client is destroyed. Null where one of the three is missing.
std::unique_ptr<KeyValues> callback_key_values(const PJRT_Client_Create_Args& args);

/// Every key with `prefix` before it. `store` outlives the result.
std::unique_ptr<KeyValues> prefixed(KeyValues& store, std::string prefix);

}  // namespace tessera::pjrt_cpu
