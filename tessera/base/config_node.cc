#include "tessera/base/config_node.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>

#include "absl/strings/str_split.h"
#include "tessera/base/strings.h"

namespace tessera {
namespace {

// Configs are small; an alias bomb is not.
constexpr size_t kMaxNodes = 100'000;

size_t count_nodes(const ConfigNode& node) {
  size_t count = 1;
  for (const ConfigNode& item : node.items) count += count_nodes(item);
  return count;
}

/// Builds a ConfigNode from the parser's events. Events rather than yaml-cpp's own tree, since
/// these tell a quoted scalar from a plain one and show duplicate keys with their lines.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::string_view source) : source_(source) {}

  ConfigNode root;
  Status status;

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(make(ConfigNode::Kind::kNull, mark), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    ConfigNode copy = anchors_[anchor];
    copy.origin = where(mark);
    nodes_ += count_nodes(copy);
    add(std::move(copy), 0);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    ConfigNode node = make(ConfigNode::Kind::kScalar, mark);
    node.text = value;
    node.quoted = tag == "!" || tag == "tag:yaml.org,2002:str";
    if (!node.quoted && (value == "null" || value == "~" || value.empty())) {
      node = make(ConfigNode::Kind::kNull, mark);
    }
    add(std::move(node), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open_.push_back({make(ConfigNode::Kind::kList, mark), anchor, false});
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open_.push_back({make(ConfigNode::Kind::kMap, mark), anchor, true});
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    ConfigNode node;
    YAML::anchor_t anchor;
    bool wants_key;
  };

  std::string where(const YAML::Mark& mark) const { return str_cat(source_, ":", mark.line + 1); }

  ConfigNode make(ConfigNode::Kind kind, const YAML::Mark& mark) {
    ConfigNode node;
    node.kind = kind;
    node.origin = where(mark);
    ++nodes_;
    return node;
  }

  void fail(const ConfigNode& node, const std::string& message) {
    if (status.ok()) status = invalid_argument(node.origin, ": ", message);
  }

  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    add(std::move(done.node), done.anchor);
  }

  void add(ConfigNode node, YAML::anchor_t anchor) {
    if (nodes_ > kMaxNodes) {
      fail(node, "the text has too many values (aliases count each time)");
      return;
    }
    if (anchor != 0) anchors_[anchor] = node;
    if (open_.empty()) {
      root = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.kind == ConfigNode::Kind::kMap && parent.wants_key) {
      add_key(parent, node);
      return;
    }
    parent.node.items.push_back(std::move(node));
    parent.wants_key = true;
  }

  void add_key(Open& parent, const ConfigNode& key) {
    if (key.kind != ConfigNode::Kind::kScalar) {
      fail(key, str_cat("a key is ", key.describe(), ": plain text is required"));
    }
    std::vector<std::string>& keys = parent.node.keys;
    if (std::find(keys.begin(), keys.end(), key.text) != keys.end()) {
      fail(key, str_cat("the key ", key.text, " is given twice in one section: remove one"));
    }
    keys.push_back(key.text);
    parent.wants_key = false;
  }

  std::string source_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, ConfigNode> anchors_;
  size_t nodes_ = 0;
};

void set_origin(ConfigNode& node, const std::string& origin) {
  node.origin = origin;
  for (ConfigNode& item : node.items) set_origin(item, origin);
}

constexpr char kCommandLine[] = "command line";

// {a: {b: node}} for the path "a.b".
Result<ConfigNode> at_path(std::string_view path, ConfigNode node) {
  const std::string origin = node.origin;
  const std::vector<std::string> names = absl::StrSplit(to_absl(path), '.');
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    if (name->empty())
      return invalid_argument(origin, ": the key \"", path, "\" has an empty part");
    ConfigNode map;
    map.kind = ConfigNode::Kind::kMap;
    map.keys.push_back(*name);
    map.items.push_back(std::move(node));
    map.origin = origin;
    node = std::move(map);
  }
  return node;
}

}  // namespace

std::string ConfigNode::describe() const {
  switch (kind) {
    case Kind::kNull:
      return "nothing";
    case Kind::kScalar:
      return str_cat("\"", text, "\"");
    case Kind::kList:
      return "a list";
    case Kind::kMap:
      return "a section";
  }
  return "unknown";
}

Result<ConfigNode> parse_yaml(std::string_view text, std::string_view source) {
  TreeBuilder builder(source);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) return ConfigNode{.origin = std::string(source)};
    RETURN_IF_ERROR(builder.status);
    TreeBuilder second(source);
    if (parser.HandleNextDocument(second)) {
      return invalid_argument(second.root.origin,
                              ": a second document starts here: one is required");
    }
  } catch (const YAML::Exception& error) {
    return invalid_argument(source, ":", error.mark.line + 1, ":", error.mark.column + 1,
                            ": not valid YAML: ", error.msg);
  }
  return std::move(builder.root);
}

Result<ConfigNode> read_yaml(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file) return not_found(path, ": cannot be opened: ", std::strerror(errno));
  if (file.peek() != std::ifstream::traits_type::eof()) text << file.rdbuf();
  if (file.bad() || text.fail()) return not_found(path, ": cannot be read; is it a file?");
  return parse_yaml(text.str(), path);
}

Result<ConfigNode> parse_override(std::string_view override_text) {
  const size_t equals = override_text.find('=');
  const std::string_view path = override_text.substr(0, equals);
  if (equals == std::string_view::npos || path.empty()) {
    return invalid_argument("command line: \"", override_text,
                            "\" is not an override: section.key=value is required");
  }
  const std::string origin = kCommandLine;
  const std::string_view value = override_text.substr(equals + 1);
  Result<ConfigNode> parsed = parse_yaml(value, origin);
  ConfigNode node;
  if (parsed.ok()) {
    node = std::move(*parsed);
  } else {
    node.kind = ConfigNode::Kind::kScalar;
  }
  if (!node.quoted)
    node.text = std::string(value);  // strings are taken as typed, `#` and `:` included
  set_origin(node, origin);
  return at_path(path, std::move(node));
}

Result<ConfigNode> text_override(std::string_view path, std::string_view text) {
  ConfigNode node;
  node.kind = ConfigNode::Kind::kScalar;
  node.text = std::string(text);
  node.quoted = true;
  node.origin = kCommandLine;
  return at_path(path, std::move(node));
}

}  // namespace tessera
