#include "tessera/sharding/partition_spec.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_join.h"
#include "tessera/base/nearest.h"

namespace tessera {
namespace {

/// The rule's axes that are larger than one.
std::vector<std::string> acting_axes(const AxisRule& rule, const Mesh& mesh) {
  std::vector<std::string> axes;
  for (const std::string& axis : rule.axes) {
    if (mesh.axis_size(axis) > 1) axes.push_back(axis);
  }
  return axes;
}

bool has_rule_named(std::span<const AxisRule> rules, std::string_view name) {
  return std::any_of(rules.begin(), rules.end(),
                     [&](const AxisRule& rule) { return rule.name == name; });
}

}  // namespace

std::string to_string(const PartitionSpec& spec, int rank) {
  std::string text = "[";
  const size_t count = std::max(spec.dims.size(), static_cast<size_t>(rank));
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) text += ",";
    if (i >= spec.dims.size() || spec.dims[i].empty()) {
      text += "_";
    } else if (spec.dims[i].size() == 1) {
      text += spec.dims[i][0];
    } else {
      str_append(&text, "(", absl::StrJoin(spec.dims[i], ","), ")");
    }
  }
  return text + "]";
}

Status AxisRules::check_known(std::span<const std::string> names) const {
  for (const std::string& name : names) {
    if (name.empty() || has_rule_named(rules_, name)) continue;
    std::vector<std::string> known;
    for (const AxisRule& rule : rules_) known.push_back(rule.name);
    const std::string near = nearest(name, known);
    return invalid_argument("no axis rule for dimension name '", name, "'",
                            near.empty() ? "" : str_cat("; did you mean '", near, "'?"));
  }
  return absl::OkStatus();
}

Status AxisRules::validate(const Mesh& mesh) const {
  for (const AxisRule& rule : rules_) {
    for (const std::string& axis : rule.axes) {
      if (mesh.find_axis(axis)) continue;
      return invalid_argument("axis rule '", rule.name, "' names axis '", axis,
                              "', which the mesh does not have; its axes are ", axis_names(mesh));
    }
  }
  return absl::OkStatus();
}

Result<PartitionSpec> AxisRules::resolve(std::span<const std::string> names,
                                         const Mesh& mesh) const {
  const std::vector<int64_t> divisible(names.size(), 0);  // by anything
  ASSIGN_OR_RETURN(ResolvedSpec resolved, resolve(names, divisible, mesh));
  return std::move(resolved.spec);
}

Result<ResolvedSpec> AxisRules::resolve(std::span<const std::string> names,
                                        std::span<const int64_t> sizes, const Mesh& mesh) const {
  RETURN_IF_ERROR(validate(mesh));
  RETURN_IF_ERROR(check_known(names));
  ResolvedSpec result;
  result.spec.dims.resize(names.size());
  std::vector<bool> resolved(names.size());
  std::set<std::string> used;
  for (const AxisRule& rule : rules_) {
    for (size_t dim = 0; dim < names.size(); ++dim) {
      if (resolved[dim] || names[dim] != rule.name) continue;
      const std::vector<std::string> axes = acting_axes(rule, mesh);
      const bool free = std::none_of(axes.begin(), axes.end(),
                                     [&](const std::string& axis) { return used.contains(axis); });
      if (!free) continue;
      resolved[dim] = true;
      int64_t parts = 1;
      for (const std::string& axis : axes) {
        const int64_t finer = parts * mesh.axis_size(axis);
        if (indivisible_ == Indivisible::kDrop && sizes[dim] % finer != 0) {
          result.dropped.push_back({static_cast<int>(dim), axis});
          continue;
        }
        parts = finer;
        used.insert(axis);
        result.spec.dims[dim].push_back(axis);
      }
    }
  }
  return result;
}

AxisRules AxisRules::with(std::span<const AxisRule> overrides) const {
  std::vector<AxisRule> merged;
  std::set<std::string> placed;
  const auto place = [&](const std::string& name) {
    if (!placed.insert(name).second) return;
    for (const AxisRule& rule : overrides) {
      if (rule.name == name) merged.push_back(rule);
    }
  };
  for (const AxisRule& rule : rules_) {
    if (has_rule_named(overrides, rule.name)) {
      place(rule.name);
    } else {
      merged.push_back(rule);
    }
  }
  for (const AxisRule& rule : overrides) place(rule.name);
  return AxisRules(std::move(merged), indivisible_);
}

}  // namespace tessera
