#include "tessera/base/config.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "absl/strings/str_join.h"
#include "tessera/base/nearest.h"
#include "tessera/base/strings.h"

namespace tessera {
namespace {

std::string key_path(std::string_view section, std::string_view name) {
  return section.empty() ? std::string(name) : str_cat(section, ".", name);
}

std::string_view parent_of(std::string_view path) {
  const size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}

// The keys below a map that has one, and so on.
std::vector<std::string> single_keys(const ConfigNode& node) {
  std::vector<std::string> keys;
  for (const ConfigNode* at = &node; at->kind == ConfigNode::Kind::kMap && at->keys.size() == 1;
       at = &at->items[0])
    keys.push_back(at->keys[0]);
  return keys;
}

std::vector<std::string> words_of(std::string_view message) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : message) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.') {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::exchange(word, ""));
    }
  }
  if (!word.empty()) words.push_back(word);
  for (std::string& each : words) {
    while (each.ends_with('.')) each.pop_back();
  }
  return words;
}

}  // namespace

ConfigField& ConfigFields::add(std::string_view name, ConfigTarget target) {
  const std::string path = key_path(sections_[current_].path, name);
  CHECK_MSG(find(path) == nullptr, str_cat("the config field ", path, " is declared twice"));
  return fields_.emplace_back(path, std::move(target));
}

void ConfigFields::open_section(std::string_view name, std::string_view help) {
  const std::string path = key_path(sections_[current_].path, name);
  CHECK_MSG(!is_section(path), str_cat("the config section ", path, " is declared twice"));
  sections_.push_back({path, std::string(help), nullptr});
  current_ = sections_.size() - 1;
}

void ConfigFields::close_section() {
  const std::string_view parent = parent_of(sections_[current_].path);
  for (size_t i = 0; i < sections_.size(); ++i) {
    if (sections_[i].path == parent) current_ = i;
  }
}

const ConfigField* ConfigFields::find(std::string_view path) const {
  for (const ConfigField& field : fields_) {
    if (field.path() == path) return &field;
  }
  return nullptr;
}

ConfigField* ConfigFields::find(std::string_view path) {
  return const_cast<ConfigField*>(std::as_const(*this).find(path));
}

bool ConfigFields::is_section(std::string_view path) const {
  return std::any_of(sections_.begin(), sections_.end(),
                     [&](const Section& section) { return section.path == path; });
}

std::vector<std::string> ConfigFields::paths() const {
  std::vector<std::string> paths;
  for (const ConfigField& field : fields_) paths.push_back(field.path());
  return paths;
}

Status ConfigFields::apply(const ConfigNode& root) { return apply_map(root, ""); }

Status ConfigFields::apply_map(const ConfigNode& node, const std::string& section) {
  if (node.kind == ConfigNode::Kind::kNull)
    return absl::OkStatus();  // "model:" with nothing below it
  if (node.kind != ConfigNode::Kind::kMap) {
    const std::string name = section.empty() ? "the config" : section;
    return invalid_argument(node.origin, ": ", name, " is ", node.describe(),
                            ": a section of key: value is required");
  }
  for (size_t i = 0; i < node.keys.size(); ++i) {
    const std::string path = key_path(section, node.keys[i]);
    if (ConfigField* field = find(path)) {
      RETURN_IF_ERROR(field->set(node.items[i]));
    } else if (is_section(path)) {
      RETURN_IF_ERROR(apply_map(node.items[i], path));
    } else {
      return unknown_key(node.items[i], section, node.keys[i]);
    }
  }
  return absl::OkStatus();
}

Status ConfigFields::unknown_key(const ConfigNode& node, const std::string& section,
                                 const std::string& key) const {
  const std::string path = key_path(section, key);
  const bool is_override = node.origin == "command line";
  const std::vector<std::string> below =
      is_override ? single_keys(node) : std::vector<std::string>();
  std::vector<std::string> siblings, everywhere;
  auto add = [&](const std::string& candidate) {
    everywhere.push_back(candidate);
    if (parent_of(candidate) == section)
      siblings.push_back(candidate.substr(section.empty() ? 0 : section.size() + 1));
  };
  for (const ConfigField& field : fields_) add(field.path());
  for (size_t i = 1; i < sections_.size(); ++i) add(sections_[i].path);

  std::string message = str_cat(node.origin, ": there is no key ", path);
  for (const std::string& name : below) str_append(&message, ".", name);
  std::string near = nearest(key, siblings);
  if (!near.empty()) near = key_path(section, near);
  for (const std::string& candidate : everywhere) {  // the right key in the wrong section
    if (near.empty() &&
        candidate.substr(parent_of(candidate).empty() ? 0 : parent_of(candidate).size() + 1) ==
            key) {
      near = candidate;
    }
  }
  if (near.empty()) near = nearest(path, everywhere);
  for (const std::string& name : below) {  // a.b=value: what b may be in the section that a may be
    if (!is_section(near)) break;
    std::vector<std::string> inside;
    for (const std::string& candidate : everywhere) {
      if (parent_of(candidate) == near) inside.push_back(candidate.substr(near.size() + 1));
    }
    const std::string next = nearest(name, inside);
    if (next.empty()) break;
    near = key_path(near, next);
  }
  if (!near.empty()) {
    str_append(&message, "; the nearest is ", near);
  } else {
    str_append(&message, "; ", section.empty() ? "the config" : section, " has ",
               absl::StrJoin(siblings, ", "));
  }
  return absl::InvalidArgumentError(message);
}

std::string ConfigFields::with_origins(std::string_view message, std::string_view section) const {
  std::vector<std::string> notes;
  std::set<std::string> seen;
  for (const std::string& word : words_of(message)) {
    const ConfigField* field = find(key_path(section, word));
    if (!field) field = find(word);
    if (!field || field->origin().empty() || !seen.insert(field->path()).second) continue;
    notes.push_back(str_cat(word, ": ", field->origin()));
  }
  std::string text = section.empty() ? std::string(message) : str_cat(section, ": ", message);
  if (!notes.empty()) str_append(&text, " (", absl::StrJoin(notes, ", "), ")");
  return text;
}

Status ConfigFields::validate() const {
  std::vector<const Section*> order;
  for (const Section& section : sections_) order.push_back(&section);
  auto depth = [](const Section* section) {
    return section->path.empty() ? 0
                                 : 1 + std::count(section->path.begin(), section->path.end(), '.');
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const Section* a, const Section* b) { return depth(a) > depth(b); });
  for (const Section* section : order) {
    if (!section->validate) continue;
    const Status status = section->validate();
    if (!status.ok())
      return Status(status.code(), with_origins(from_absl(status.message()), section->path));
  }
  return absl::OkStatus();
}

Status ConfigFields::load(const std::string& recipe_path, std::span<const std::string> overrides) {
  if (!recipe_path.empty()) {
    ASSIGN_OR_RETURN(const ConfigNode recipe, read_yaml(recipe_path));
    RETURN_IF_ERROR(apply(recipe));
  }
  for (const std::string& text : overrides) {
    ASSIGN_OR_RETURN(const ConfigNode node, parse_override(text));
    RETURN_IF_ERROR(apply(node));
  }
  return validate();
}

}  // namespace tessera
