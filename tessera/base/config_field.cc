#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tessera/base/config.h"
#include "tessera/base/environment.h"
#include "tessera/base/nearest.h"
#include "tessera/base/strings.h"

namespace tessera {
namespace {

using Kind = ConfigNode::Kind;

template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <typename T>
struct IsVector : std::false_type {};
template <typename T>
struct IsVector<std::vector<T>> : std::true_type {};

struct Unit {
  std::string_view suffix;
  double factor;
};
constexpr Unit kUnits[] = {
    {"Ki", 1024.0}, {"Mi", 1048576.0}, {"Gi", 1073741824.0}, {"Ti", 1099511627776.0},
    {"k", 1e3},     {"M", 1e6},        {"G", 1e9},           {"T", 1e12}};

template <typename T>
bool parse_whole(std::string_view text, T& value) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// "1_000_000" is easier to read than what from_chars takes.
std::string without_underscores(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool between_digits = i > 0 && i + 1 < text.size() &&
                                std::isdigit(static_cast<unsigned char>(text[i - 1])) &&
                                std::isdigit(static_cast<unsigned char>(text[i + 1]));
    if (text[i] != '_' || !between_digits) plain += text[i];
  }
  return plain;
}

template <typename T>
requires std::integral<T>
bool parse_scalar(std::string_view text, T& value) {
  const std::string plain = without_underscores(text);
  if (parse_whole(plain, value)) return true;
  std::string_view number = plain;
  double factor = 1;
  for (const Unit& unit : kUnits) {
    if (!number.ends_with(unit.suffix)) continue;
    number.remove_suffix(unit.suffix.size());
    factor = unit.factor;
    break;
  }
  double real = 0;
  if (!parse_whole(number, real)) return false;
  real *= factor;
  // Above 2^53 a double no longer holds every integer, so what it holds may not be what was
  // written.
  if (real != std::floor(real) || std::abs(real) > 9007199254740992.0) return false;
  if (real < static_cast<double>(std::numeric_limits<T>::min())) return false;
  if (real > static_cast<double>(std::numeric_limits<T>::max())) return false;
  value = static_cast<T>(real);
  return true;
}

bool parse_scalar(std::string_view text, double& value) {
  return parse_whole(without_underscores(text), value) && std::isfinite(value);
}

bool parse_scalar(std::string_view text, bool& value) {
  if (text != "true" && text != "false") return false;
  value = text == "true";
  return true;
}

bool parse_scalar(std::string_view text, std::string& value) {
  value = text;
  return true;
}

template <typename T>
bool parse_node(const ConfigNode& node, T& value) {
  if constexpr (IsVector<T>::value) {
    if (node.kind != Kind::kList) return false;
    T items;
    for (const ConfigNode& item : node.items) {
      if (!parse_node(item, items.emplace_back())) return false;
    }
    value = std::move(items);
    return true;
  } else {
    // `key=` and `key=null`: on the command line a string is taken as typed.
    const bool is_typed_string = std::is_same_v<T, std::string> && node.origin == "command line";
    if (node.kind == Kind::kNull && is_typed_string) return parse_scalar(node.text, value);
    if (node.kind != Kind::kScalar) return false;
    if (node.quoted && !std::is_same_v<T, std::string>) return false;
    return parse_scalar(node.text, value);
  }
}

template <typename T>
std::string_view type_name(bool several) {
  if constexpr (std::is_same_v<T, bool>) return "true or false";
  if constexpr (std::integral<T>) return several ? "integers" : "an integer";
  if constexpr (std::is_same_v<T, double>) return several ? "numbers" : "a number";
  return several ? "strings" : "a string";
}

std::string number_text(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15)
    return str_cat(static_cast<int64_t>(value));
  return absl::StrFormat("%.12g", value);  // 0.9999999 is not 1
}

// [a, b] is one list, and so is a alone; [[a, b], [c]] are two of the same name, to be tried in
// turn.
bool parse_alternatives(const ConfigNode& node, std::vector<std::vector<std::string>>& lists) {
  if (node.kind == Kind::kScalar) return parse_node(node, lists.emplace_back().emplace_back());
  const bool several =
      node.kind == Kind::kList && !node.items.empty() && node.items[0].kind == Kind::kList;
  if (several) return parse_node(node, lists);
  return node.kind == Kind::kNull ? (lists.emplace_back(), true)
                                  : parse_node(node, lists.emplace_back());
}

bool merge_named_lists(const ConfigNode& node, ConfigNamedLists& table) {
  if (node.kind != Kind::kMap) return false;
  ConfigNamedLists merged = table;
  for (size_t i = 0; i < node.keys.size(); ++i) {
    std::vector<std::vector<std::string>> lists;
    if (!parse_alternatives(node.items[i], lists)) return false;
    auto same = [&](const auto& entry) { return entry.first == node.keys[i]; };
    auto place = std::find_if(merged.begin(), merged.end(), same);
    const auto index = place - merged.begin();
    merged.erase(std::remove_if(place, merged.end(), same), merged.end());
    place = merged.begin() + index;
    for (auto& list : lists) place = merged.insert(place, {node.keys[i], std::move(list)}) + 1;
  }
  table = std::move(merged);
  return true;
}

struct TypeNamer {
  std::string operator()(const ConfigNamedLists*) const {
    return "a section of name: [names], or of name: [[names], [names]]";
  }
  std::string operator()(const ConfigChoice&) const { return "one of"; }
  template <typename T>
  std::string operator()(const std::optional<T>*) const {
    return str_cat(type_name<T>(false), " or null");
  }
  template <typename T>
  std::string operator()(const std::vector<T>*) const {
    return str_cat("a list of ", type_name<T>(true));
  }
  template <typename T>
  std::string operator()(const T*) const {
    return std::string(type_name<T>(false));
  }
};

struct JsonWriter {
  Json operator()(const ConfigChoice& choice) const {
    const size_t index = choice.get();
    return index < choice.names.size() ? Json(choice.names[index]) : Json(nullptr);
  }
  Json operator()(const ConfigNamedLists* table) const {
    Json json = Json::object();
    for (size_t i = 0; i < table->size(); ++i) {
      const auto& [name, names] = (*table)[i];
      const bool first = i == 0 || (*table)[i - 1].first != name;
      const bool last = i + 1 == table->size() || (*table)[i + 1].first != name;
      if (first && last) {
        json[name] = names;
      } else {
        json[name].push_back(names);
      }
    }
    return json;
  }
  template <typename T>
  Json operator()(const std::optional<T>* value) const {
    return *value ? Json(**value) : Json(nullptr);
  }
  template <typename T>
  Json operator()(const T* value) const {
    return Json(*value);
  }
};

std::string describe_list(const ConfigNode& node) {
  std::vector<std::string> items;
  for (const ConfigNode& item : node.items) items.push_back(item.describe());
  return str_cat("[", absl::StrJoin(items, ", "), "]");
}

}  // namespace

/// Sets one kind of target each; a struct, so that ConfigField can befriend it.
struct ConfigSetter {
  const ConfigField& field;
  const ConfigNode& node;

  template <typename T>
  bool accepts(const T& value) const {
    if constexpr (IsVector<T>::value) {
      for (const auto& item : value) {
        if (!accepts(item)) return false;
      }
      return !field.not_empty_ || !value.empty();
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (field.not_empty_ && value.empty()) return false;
      const auto& names = field.names_;
      return names.empty() || std::find(names.begin(), names.end(), value) != names.end();
    } else if constexpr (std::is_same_v<T, bool>) {
      return true;
    } else {
      return field.in_range(static_cast<double>(value));
    }
  }

  template <typename T>
  bool operator()(T* target) const {
    if constexpr (IsOptional<T>::value) {
      if (node.kind == Kind::kNull) {
        target->reset();
        return true;
      }
      typename T::value_type value{};
      if (!parse_node(node, value) || !accepts(value)) return false;
      *target = std::move(value);
      return true;
    } else {
      T value{};
      if (!parse_node(node, value) || !accepts(value)) return false;
      *target = std::move(value);
      return true;
    }
  }

  bool operator()(ConfigNamedLists* target) const { return merge_named_lists(node, *target); }

  bool operator()(const ConfigChoice& choice) const {
    std::string name;
    if (!parse_node(node, name)) return false;
    for (size_t i = 0; i < choice.names.size(); ++i) {
      if (choice.names[i] != name) continue;
      choice.set(i);
      return true;
    }
    return false;
  }
};

ConfigField& ConfigField::range(double low, double high) {
  low_ = low;
  high_ = high;
  return *this;
}

ConfigField& ConfigField::at_least(double low) {
  low_ = low;
  return *this;
}

ConfigField& ConfigField::above(double low) {
  low_ = low;
  low_is_open_ = true;
  return *this;
}

ConfigField& ConfigField::or_value(double special) {
  special_ = special;
  return *this;
}

ConfigField& ConfigField::one_of(std::vector<std::string> names) {
  names_ = std::move(names);
  return *this;
}

ConfigField& ConfigField::expands_variables() {
  expands_variables_ = true;
  return *this;
}

ConfigField& ConfigField::not_empty() {
  not_empty_ = true;
  return *this;
}

ConfigField& ConfigField::help(std::string_view text) {
  help_ = text;
  return *this;
}

std::string_view ConfigField::name() const {
  const size_t dot = path_.rfind('.');
  return dot == std::string::npos ? std::string_view(path_)
                                  : std::string_view(path_).substr(dot + 1);
}

bool ConfigField::in_range(double value) const {
  if (special_ && value == *special_) return true;
  if (low_ && (low_is_open_ ? value <= *low_ : value < *low_)) return false;
  return !high_ || value <= *high_;
}

std::string ConfigField::requirement() const {
  std::string text = std::visit(TypeNamer{}, target_);
  const auto* choice = std::get_if<ConfigChoice>(&target_);
  if (choice) str_append(&text, " ", absl::StrJoin(choice->names, ", "));
  if (!names_.empty()) str_append(&text, ", one of ", absl::StrJoin(names_, ", "));
  if (not_empty_) str_append(&text, ", not empty");
  if (low_ && high_) {
    str_append(&text, " from ", number_text(*low_), " to ", number_text(*high_));
  } else if (low_) {
    str_append(&text, low_is_open_ ? " above " : " of at least ", number_text(*low_));
  }
  if (special_) str_append(&text, ", or ", number_text(*special_));
  return text;
}

Status ConfigField::wrong(const ConfigNode& node) const {
  if (std::holds_alternative<ConfigNamedLists*>(target_) && node.kind == Kind::kMap) {
    for (size_t i = 0; i < node.keys.size(); ++i) {
      std::vector<std::vector<std::string>> lists;
      const ConfigNode& item = node.items[i];
      if (parse_alternatives(item, lists)) continue;
      return absl::InvalidArgumentError(
          str_cat(item.origin, ": ", path_, ".", node.keys[i], " is ",
                  item.kind == Kind::kList ? describe_list(item) : item.describe(),
                  ": a list of names, such as [fsdp, tensor], or several, such as "
                  "[[fsdp, tensor], [fsdp]], is required"));
    }
  }
  const std::string got = node.kind == Kind::kList ? describe_list(node) : node.describe();
  std::string message =
      str_cat(node.origin, ": ", path_, " is ", got, ": ", requirement(), " is required");
  const auto* choice = std::get_if<ConfigChoice>(&target_);
  const std::string near = nearest(node.text, choice ? choice->names : names_);
  if (!near.empty()) str_append(&message, "; the nearest is ", near);
  return absl::InvalidArgumentError(message);
}

Status ConfigField::expand(ConfigNode& node) const {
  for (ConfigNode& item : node.items) RETURN_IF_ERROR(expand(item));
  const Result<std::string> text = expand_variables(node.text);
  if (!text.ok())
    return invalid_argument(node.origin, ": ", path_, ": ", from_absl(text.status().message()));
  node.text = *text;
  return absl::OkStatus();
}

Status ConfigField::set(const ConfigNode& node) {
  ConfigNode expanded = node;
  if (expands_variables_) RETURN_IF_ERROR(expand(expanded));
  if (!std::visit(ConfigSetter{*this, expanded}, target_)) return wrong(expanded);
  origin_ = node.origin;
  return absl::OkStatus();
}

Json ConfigField::to_json() const { return std::visit(JsonWriter{}, target_); }

}  // namespace tessera
