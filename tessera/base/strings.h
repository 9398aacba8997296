#pragma once

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"

// Debian builds absl with a string_view of its own, which neither takes nor gives std::string_view.
// Inside Tessera only std::string_view is used; these functions stand at the border.

namespace tessera {

/// absl's view of the same characters: for arguments of absl's functions.
inline absl::string_view to_absl(std::string_view text) { return {text.data(), text.size()}; }
/// The standard view of the same characters: for results such as Status::message().
inline std::string_view from_absl(absl::string_view text) { return {text.data(), text.size()}; }

namespace strings_internal {
inline absl::string_view alpha(std::string_view text) { return to_absl(text); }
template <typename T>
const T& alpha(const T& value) {
  return value;
}
}  // namespace strings_internal

/// Joins strings, views and numbers: absl::StrCat that also takes std::string_view. Use it instead.
template <typename... Args>
std::string str_cat(const Args&... args) {
  return absl::StrCat(strings_internal::alpha(args)...);
}

/// Appends to `out` what str_cat would give.
template <typename... Args>
void str_append(std::string* out, const Args&... args) {
  absl::StrAppend(out, strings_internal::alpha(args)...);
}

}  // namespace tessera
