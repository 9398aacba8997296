#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "tessera/base/status.h"

namespace tessera {

/// A JSON value that keeps the order of its keys. A .cc file that looks into one includes
/// <nlohmann/json.hpp>.
using Json = nlohmann::ordered_json;

/// Parses `text`. An error names `source` (a file's path), and the line and column where the text
/// stops being JSON.
Result<Json> parse_json(std::string_view text, std::string_view source);

}  // namespace tessera
