#include "tessera/base/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

namespace tessera {

Result<Json> parse_json(std::string_view text, std::string_view source) {
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::out_of_range&) {  // its text has all of the number, and no place
    return invalid_argument(source, ": holds a number larger than any that a double can be");
  } catch (const nlohmann::json::parse_error& error) {
    const size_t end = std::min(text.size(), error.byte > 0 ? error.byte - 1 : 0);
    const std::string_view before = text.substr(0, end);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const size_t newline = before.rfind('\n');
    const size_t column = newline == std::string_view::npos ? end + 1 : end - newline;
    return invalid_argument(source, ":", line, ":", column, ": not valid JSON");
  }
}

}  // namespace tessera
