#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/status.h"
#include "tessera/sharding/mesh.h"

namespace tessera {

/// For each dimension of a tensor the mesh axes that split it, the first one outermost; none: the
/// dimension is whole on every device. Dimensions that are not listed are whole.
struct PartitionSpec {
  std::vector<std::vector<std::string>> dims;
  bool operator==(const PartitionSpec&) const = default;
};

/// "[fsdp,_]", "[(data,fsdp),_,tensor]": filled up with "_" to `rank` dimensions.
std::string to_string(const PartitionSpec& spec, int rank = 0);

/// One line of the table from names of dimensions to mesh axes.
struct AxisRule {
  std::string name;
  std::vector<std::string> axes;
  bool operator==(const AxisRule&) const = default;
};

/// An axis that a rule would split a dimension by, but that does not divide it.
struct DroppedAxis {
  int dim = 0;
  std::string axis;
  bool operator==(const DroppedAxis&) const = default;
};

struct ResolvedSpec {
  PartitionSpec spec;
  std::vector<DroppedAxis> dropped;
};

/// What becomes of an axis that does not divide a dimension.
enum class Indivisible {
  kKeep,  ///< it stays in the spec, and whoever lays the tensor out reports the error
  kDrop   ///< it splits nothing there
};

/// The ordered table from names of dimensions to mesh axes.
///
/// A name may stand in several rules: the first whose axes are all still free in the same tensor is
/// taken, and none if there is no such rule. Rules are tried in the order of the table, so a
/// tensor's dimension with an earlier rule takes an axis before the others. Mesh axes of size one
/// split nothing and are dropped first. An immutable value; safe to use from several threads.
class AxisRules {
 public:
  AxisRules() = default;
  explicit AxisRules(std::vector<AxisRule> rules, Indivisible indivisible = Indivisible::kKeep)
      : rules_(std::move(rules)), indivisible_(indivisible) {}
  /// Also of one rule, whose braces could else be a table's as well.
  AxisRules(std::initializer_list<AxisRule> rules) : rules_(rules) {}

  /// The spec of a tensor whose dimensions have these names; "" is a dimension that is never split.
  /// Errors: a name without a rule (names the nearest), a rule that names an axis the mesh does not
  /// have.
  Result<PartitionSpec> resolve(std::span<const std::string> names, const Mesh& mesh) const;
  /// The same for a tensor of these sizes, one a name: with kDrop, each axis of a rule acts only
  /// where it divides what the axes before it leave of the dimension.
  Result<ResolvedSpec> resolve(std::span<const std::string> names, std::span<const int64_t> sizes,
                               const Mesh& mesh) const;
  /// An error that names the first rule with an axis that the mesh does not have.
  Status validate(const Mesh& mesh) const;
  /// This table with `overrides`: all rules of a name that they hold are replaced by them, in the
  /// place of the first; new names come last.
  AxisRules with(std::span<const AxisRule> overrides) const;
  AxisRules with(Indivisible indivisible) const { return AxisRules(rules_, indivisible); }

  std::span<const AxisRule> rules() const { return rules_; }

 private:
  Status check_known(std::span<const std::string> names) const;

  std::vector<AxisRule> rules_;
  Indivisible indivisible_ = Indivisible::kKeep;
};

}  // namespace tessera
