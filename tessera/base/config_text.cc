#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "absl/strings/str_split.h"
#include "tessera/base/config.h"
#include "tessera/base/format.h"
#include "tessera/base/strings.h"

namespace tessera {
namespace {

constexpr size_t kHelpColumns = 100;

std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false,
                         Json::error_handler_t::replace);  // JSON's escapes are YAML's too
}

bool is_plain_string(std::string_view text) {
  if (text.empty() || !std::isalpha(static_cast<unsigned char>(text[0]))) return false;
  const bool plain = std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '-' || c == '/' || c == '.';
  });
  // Readers of YAML 1.1 take these for something else; `inf` and `nan` are numbers to some.
  static constexpr std::string_view kReserved[] = {"null", "true", "false", "yes", "no", "on",
                                                   "off",  "y",    "n",     "inf", "nan"};
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return plain &&
         std::find(std::begin(kReserved), std::end(kReserved), lower) == std::end(kReserved);
}

std::string scalar_text(const Json& value) {
  if (value.is_string()) {
    const std::string& text = value.get_ref<const std::string&>();
    return is_plain_string(text) ? text : quoted(text);
  }
  return value.dump();
}

std::string flow_text(const Json& value) {
  if (!value.is_array()) return scalar_text(value);
  std::string text = "[";
  for (const Json& item : value) str_append(&text, text.size() > 1 ? ", " : "", scalar_text(item));
  return text + "]";
}

std::string indent(std::string_view path) {
  return std::string(2 * std::count(path.begin(), path.end(), '.'), ' ');
}

std::string_view last_part(std::string_view path) {
  return path.substr(path.rfind('.') + 1);  // npos + 1 is 0
}

std::string parent(const std::string& path) {
  const size_t dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(0, dot);
}

std::string field_text(const ConfigField& field, bool origins) {
  const std::string note =
      origins && !field.origin().empty() ? str_cat("  # ", field.origin()) : "";
  const std::string key = str_cat(indent(field.path()), field.name(), ":");
  const Json value = field.to_json();
  if (!value.is_object()) return str_cat(key, " ", flow_text(value), note, "\n");
  if (value.empty()) return str_cat(key, " {}", note, "\n");
  std::string text = str_cat(key, note, "\n");
  for (const auto& [name, names] : value.items()) {
    str_append(&text, indent(field.path()), "  ", scalar_text(Json(name)), ": ", flow_text(names),
               "\n");
  }
  return text;
}

}  // namespace

Json ConfigFields::to_json() const {
  Json root = Json::object();
  for (const ConfigField& field : fields_) {
    Json* node = &root;
    const std::vector<std::string> names = absl::StrSplit(field.path(), '.');
    for (size_t i = 0; i + 1 < names.size(); ++i) node = &(*node)[names[i]];
    (*node)[names.back()] = field.to_json();
  }
  return root;
}

std::string ConfigFields::yaml(bool origins) const {
  std::string text;
  for (size_t i = 0; i < sections_.size(); ++i) {
    const std::string& path = sections_[i].path;
    if (i > 0) str_append(&text, indent(path), last_part(path), ":\n");
    for (const ConfigField& field : fields_) {
      if (parent(field.path()) == path) text += field_text(field, origins);
    }
  }
  return text;
}

std::string ConfigFields::to_yaml() const { return yaml(false); }
std::string ConfigFields::to_yaml_with_origins() const { return yaml(true); }

std::string ConfigFields::help() const {
  std::string text;
  for (const Section& section : sections_) {
    std::string lines;
    for (const ConfigField& field : fields_) {
      if (parent(field.path()) != section.path) continue;
      const Json value = field.to_json();
      const std::string shown = value.is_object() ? "" : str_cat(" = ", flow_text(value));
      const std::string told = str_cat(field.help_text(), field.help_text().empty() ? "" : " ", "(",
                                       field.requirement(), ")");
      str_append(&lines, "  ", field.path(), shown, "\n");
      const std::string broken = wrapped(told, kHelpColumns - 6);
      for (const absl::string_view line : absl::StrSplit(broken, '\n'))
        str_append(&lines, "      ", from_absl(line), "\n");
    }
    if (lines.empty() && section.help.empty()) continue;
    if (!text.empty()) text += "\n";
    if (!section.path.empty()) {
      str_append(&text, section.path, section.help.empty() ? "" : ": ", section.help, "\n");
    }
    text += lines;
  }
  return text;
}

}  // namespace tessera
