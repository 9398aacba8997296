#include "tessera/coord/key_values.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "tessera/base/format.h"
#include "tessera/base/strings.h"

namespace tessera::coord {
namespace {

int64_t size_of(const std::string& text) { return static_cast<int64_t>(text.size()); }
std::string size_text(int64_t bytes) { return bytes_text(static_cast<double>(bytes)); }

}  // namespace

std::string quoted(std::string_view text) {
  constexpr size_t kLongest = 80;
  const bool cut = text.size() > kLongest;
  return str_cat("'", absl::CHexEscape(to_absl(text.substr(0, kLongest))), cut ? "..." : "", "'");
}

Status KeyValues::check(const std::string& key, const std::string& value,
                        const std::string* old) const {
  if (key.empty()) return invalid_argument("a key is empty");
  if (size_of(key) > limits_.key_bytes) {
    return invalid_argument("key ", quoted(key), " has ", size_text(size_of(key)),
                            "; at most: ", size_text(limits_.key_bytes));
  }
  if (size_of(value) > limits_.value_bytes) {
    return invalid_argument("the value of key ", quoted(key), " has ", size_text(size_of(value)),
                            "; at most: ", size_text(limits_.value_bytes));
  }
  const int64_t added = size_of(value) + (old ? -size_of(*old) : size_of(key));
  if (total_bytes_ + added > limits_.total_bytes) {
    return absl::ResourceExhaustedError(
        str_cat("key ", quoted(key), ": the coordinator's key-values would take ",
                size_text(total_bytes_ + added), "; at most: ", size_text(limits_.total_bytes),
                ". Erase what is not needed any more."));
  }
  return absl::OkStatus();
}

Status KeyValues::put(const std::string& key, std::string value, bool overwrite) {
  const auto found = values_.find(key);
  const std::string* old = found == values_.end() ? nullptr : &found->second;
  RETURN_IF_ERROR(check(key, value, old));
  if (old && !overwrite) {
    return absl::AlreadyExistsError(str_cat("key ", quoted(key), " has a value already"));
  }
  total_bytes_ += size_of(value) + (old ? -size_of(*old) : size_of(key));
  values_[key] = std::move(value);
  return absl::OkStatus();
}

const std::string* KeyValues::find(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

bool KeyValues::erase(const std::string& key) {
  const auto found = values_.find(key);
  if (found == values_.end()) return false;
  total_bytes_ -= size_of(key) + size_of(found->second);
  values_.erase(found);
  return true;
}

std::vector<std::string> KeyValues::keys(std::string_view prefix) const {
  std::vector<std::string> keys;
  for (auto it = values_.lower_bound(std::string(prefix));
       it != values_.end() && it->first.starts_with(prefix); ++it) {
    keys.push_back(it->first);
  }
  return keys;
}

}  // namespace tessera::coord
