#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/base/config_node.h"
#include "tessera/base/json.h"
#include "tessera/base/status.h"

/// Configuration: a component has a plain struct whose fields stand in one function,
///
///     struct LlamaConfig {
///       int64_t layers = 6;
///       double norm_epsilon = 1e-5;
///       void fields(ConfigFields& f) {
///         f.field("layers", layers).range(1, 1000).help("Decoder blocks.");
///         f.field("norm_epsilon", norm_epsilon).above(0).help("Added to the mean square.");
///       }
///       Status validate() const;  // optional: what concerns several fields
///     };
///
/// and from that come reading YAML, `section.key=value` overrides, errors, help, and the resolved
/// text.
namespace tessera {

/// An ordered table from a name to a list of names, for example sharding rules. A recipe's entry
/// replaces the default's of the same name, or is added at the end. `name: [[a, b], [c]]` gives the
/// name several lists, which stand one after the other.
using ConfigNamedLists = std::vector<std::pair<std::string, std::vector<std::string>>>;

/// A value that is one of several names; bound by ConfigFields::choice().
struct ConfigChoice {
  std::vector<std::string> names;
  std::function<size_t()> get;
  std::function<void(size_t)> set;
};

/// What a field may be bound to. Integers take `4096`, `1e6`, `4_096`, and k, M, G, T (thousands),
/// Ki, Mi, Gi, Ti (1024s).
using ConfigTarget =
    std::variant<int64_t*, int*, uint64_t*, double*, bool*, std::string*, std::optional<int64_t>*,
                 std::optional<double>*, std::optional<bool>*, std::optional<std::string>*,
                 std::vector<int64_t>*, std::vector<double>*, std::vector<std::string>*,
                 ConfigNamedLists*, ConfigChoice>;

/// One key: what it is bound to, what it accepts, and where its value came from.
class ConfigField {
 public:
  ConfigField(std::string path, ConfigTarget target)
      : path_(std::move(path)), target_(std::move(target)) {}

  /// Numbers (each, in a list) must lie in [low, high].
  ConfigField& range(double low, double high);
  ConfigField& at_least(double low);
  /// Numbers must be greater than `low`.
  ConfigField& above(double low);
  /// One number that is accepted outside the range, such as -1 for "fill".
  ConfigField& or_value(double special);
  /// Strings must be one of `names`.
  ConfigField& one_of(std::vector<std::string> names);
  /// Strings may hold ${NAME} for an environment variable; the resolved config has its value.
  ConfigField& expands_variables();
  /// Strings must not be empty.
  ConfigField& not_empty();
  ConfigField& help(std::string_view text);

  /// "model.layers".
  const std::string& path() const { return path_; }
  /// "layers".
  std::string_view name() const;
  const std::string& help_text() const { return help_; }
  /// Where the value was set: "recipe.yaml:12", "command line", or empty for the default.
  const std::string& origin() const { return origin_; }
  bool is_bool() const { return std::holds_alternative<bool*>(target_); }
  bool is_string() const { return std::holds_alternative<std::string*>(target_); }
  bool is_named_lists() const { return std::holds_alternative<ConfigNamedLists*>(target_); }

  /// Sets the bound value. An error leaves it alone and names the origin, the key, what was got and
  /// what is required.
  Status set(const ConfigNode& node);
  Json to_json() const;
  /// "an integer from 1 to 1000".
  std::string requirement() const;

 private:
  friend struct ConfigSetter;
  Status wrong(const ConfigNode& node) const;
  Status expand(ConfigNode& node) const;
  bool in_range(double value) const;

  std::string path_;
  ConfigTarget target_;
  std::string help_;
  std::string origin_;
  std::optional<double> low_, high_, special_;
  bool low_is_open_ = false;
  bool not_empty_ = false;
  bool expands_variables_ = false;
  std::vector<std::string> names_;
};

/// The fields of one config struct and of the sections inside it, bound to that instance, which
/// must outlive this. Not thread-safe.
class ConfigFields {
 public:
  template <typename T>
  explicit ConfigFields(T& config) {
    describe(config);
  }
  ConfigFields(const ConfigFields&) = delete;
  ConfigFields& operator=(const ConfigFields&) = delete;

  // For the `fields` functions.

  /// Binds `name` to `value`, whose present value is the default.
  template <typename T>
  ConfigField& field(std::string_view name, T& value) {
    return add(name, ConfigTarget(&value));
  }

  /// Binds `name` to an enum: f.choice("dtype", dtype, {{"f32", Dtype::kF32}, {"bf16",
  /// Dtype::kBf16}}).
  template <typename E>
  ConfigField& choice(
      std::string_view name, E& value,
      std::initializer_list<std::pair<std::string_view, std::type_identity_t<E>>> values) {
    ConfigChoice choice;
    std::vector<E> enumerators;
    for (const auto& [text, enumerator] : values) {
      choice.names.emplace_back(text);
      enumerators.push_back(enumerator);
    }
    choice.get = [&value, enumerators] {
      for (size_t i = 0; i < enumerators.size(); ++i) {
        if (enumerators[i] == value) return i;
      }
      return enumerators.size();
    };
    choice.set = [&value, enumerators](size_t index) { value = enumerators[index]; };
    return add(name, ConfigTarget(std::move(choice)));
  }

  /// Puts the fields of `config` under `name`, to any depth.
  template <typename T>
  void section(std::string_view name, T& config, std::string_view help = "") {
    open_section(name, help);
    describe(config);
    close_section();
  }

  // For the users of a config.

  /// Sets what the tree names. An error names the place, the key, what was got and required, and
  /// the nearest key.
  Status apply(const ConfigNode& root);
  /// Runs every section's validate(), innermost first, and says where the keys that a message names
  /// were set.
  Status validate() const;
  /// apply() for a recipe (empty: none), then for each `section.key=value`, then validate().
  Status load(const std::string& recipe_path, std::span<const std::string> overrides);

  /// The resolved config. Reading either back gives the same config.
  Json to_json() const;
  std::string to_yaml() const;
  /// The YAML with "# recipe.yaml:12" behind each value that is not the default.
  std::string to_yaml_with_origins() const;
  /// Every key with its requirement, its present value, and its help, a section a paragraph.
  std::string help() const;

  /// The field at "model.layers", or null.
  const ConfigField* find(std::string_view path) const;
  ConfigField* find(std::string_view path);
  std::vector<std::string> paths() const;

 private:
  struct Section {
    std::string path;  // "" is the root
    std::string help;
    std::function<Status()> validate;
  };

  template <typename T>
  void describe(T& config) {
    const size_t index = current_;
    config.fields(*this);
    if constexpr (requires {
                    { config.validate() } -> std::convertible_to<Status>;
                  }) {
      sections_[index].validate = [&config] { return config.validate(); };
    }
  }

  ConfigField& add(std::string_view name, ConfigTarget target);
  void open_section(std::string_view name, std::string_view help);
  void close_section();
  bool is_section(std::string_view path) const;
  Status apply_map(const ConfigNode& node, const std::string& section);
  Status unknown_key(const ConfigNode& node, const std::string& section,
                     const std::string& key) const;
  std::string with_origins(std::string_view message, std::string_view section) const;
  std::string yaml(bool origins) const;

  std::deque<ConfigField> fields_;  // a deque, so that references to its elements stay valid
  std::deque<Section> sections_{Section{}};
  size_t current_ = 0;
};

/// Reads a recipe (empty: none) and overrides into `config`, and validates it.
template <typename T>
Status load_config(T& config, const std::string& recipe_path,
                   std::span<const std::string> overrides) {
  return ConfigFields(config).load(recipe_path, overrides);
}

}  // namespace tessera
