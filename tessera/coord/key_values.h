#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/status.h"

namespace tessera::coord {

/// What a store of key-values takes at most. Sizes in bytes.
struct KeyValueLimits {
  int64_t key_bytes = 4096;
  int64_t value_bytes = int64_t{16} << 20;
  int64_t total_bytes = int64_t{1} << 30;  ///< of keys and values together
};

/// Key-values in the order of their keys. No thread-safety of its own.
class KeyValues {
 public:
  explicit KeyValues(const KeyValueLimits& limits) : limits_(limits) {}

  /// ALREADY_EXISTS where the key is there and `overwrite` is false; INVALID_ARGUMENT for an empty
  /// or too long key or value; RESOURCE_EXHAUSTED when all would be too much.
  Status put(const std::string& key, std::string value, bool overwrite);
  /// The value, or null.
  const std::string* find(const std::string& key) const;
  bool erase(const std::string& key);
  /// The keys that begin with `prefix`.
  std::vector<std::string> keys(std::string_view prefix) const;
  const std::map<std::string, std::string>& all() const { return values_; }
  int64_t total_bytes() const { return total_bytes_; }

 private:
  Status check(const std::string& key, const std::string& value, const std::string* old) const;

  KeyValueLimits limits_;
  std::map<std::string, std::string> values_;
  int64_t total_bytes_ = 0;
};

/// `text` in quotes, cut after 80 characters, with what cannot be printed as "\x01": for messages.
std::string quoted(std::string_view text);

}  // namespace tessera::coord
