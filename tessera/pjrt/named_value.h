#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace tessera::pjrt {

/// A named option or attribute, as plugins take and give them.
struct NamedValue {
  std::string name;
  std::variant<std::string, int64_t, std::vector<int64_t>, float, bool> value;

  bool operator==(const NamedValue&) const = default;
};

/// "cpu_device_count=4", for messages and logs.
std::string to_string(const NamedValue& named_value);

}  // namespace tessera::pjrt
