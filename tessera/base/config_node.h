#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/status.h"

namespace tessera {

/// One value of a parsed YAML (hence also JSON) text, which remembers where it stood.
struct ConfigNode {
  enum class Kind { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  std::string text;               ///< A scalar as written, without its quotes.
  bool quoted = false;            ///< Quoted scalars are strings, whatever they look like.
  std::vector<ConfigNode> items;  ///< A list's items, or a map's values.
  std::vector<std::string> keys;  ///< A map's keys, in order; one for each item.
  std::string origin;             ///< "recipe.yaml:12", or "command line".

  /// What a message calls it: `"four"`, `3`, `nothing`, `a list`, `a section`.
  std::string describe() const;
};

/// Parses one YAML document. `source` names the text in messages. Two equal keys in one map,
/// several documents, and keys that are not plain text are errors; so is an alias that would blow
/// up the tree. An empty text is a kNull node.
Result<ConfigNode> parse_yaml(std::string_view text, std::string_view source);

/// Reads and parses the file at `path`.
Result<ConfigNode> read_yaml(const std::string& path);

/// Parses `a.b=value` into the map {a: {b: value}}, the value being YAML. What is not YAML is kept
/// as text.
Result<ConfigNode> parse_override(std::string_view override_text);

/// {a: {b: text}} for the path `a.b`, the text taken as it is: nothing in it is YAML.
Result<ConfigNode> text_override(std::string_view path, std::string_view text);

}  // namespace tessera
