#pragma once

#include <map>
#include <span>
#include <vector>

#include "tessera/ops/joint_internal.h"

namespace tessera {

/// The reverse half of a joint graph as a body of its own, and what that needs of the forward half.
///
/// What the reverse nodes use of the forward ones must reach them where they run apart: as it is if
/// the body got it from outside, recomputed if that is cheap, and otherwise kept by the forward
/// half as one more result, a residual.
class ReverseBody {
 public:
  /// The body's parameters are `carries`, which differ from run to run and are residuals; `slices`,
  /// which differ from run to run and are there again; and others, which are always the same: what
  /// is computed of them alone is recomputed.
  ReverseBody(const Joint& joint, int carries, int slices);

  const std::vector<ValueId>& residuals() const { return residuals_; }
  /// Those of the body's own parameters that must be there again, by index.
  const std::vector<int>& body_parameters() const { return from_outside_; }
  /// Recreates the gradients in `target`, given values for everything that is needed from outside:
  /// residuals, body parameters, cotangents, captures.
  std::vector<Value> build(Graph& target, std::map<ValueId, Value> known) const;

 private:
  void mark_invariant();
  void require(ValueId id);
  bool is_cheap(const Node& node) const;
  // Whether a forward value can be recomputed for little from `kept` and what is there in any case:
  // invariants and slices.
  bool is_given(ValueId id, std::span<const ValueId> kept) const;
  // A narrowed value is not kept where what it was made of is kept as well, for another use.
  void drop_what_others_give();

  const Joint& joint_;
  int carries_, slices_;
  std::map<ValueId, int> parameter_of_;
  std::vector<bool> invariant_;
  std::map<ValueId, bool> seen_;
  std::map<int32_t, bool> copied_;
  std::vector<ValueId> residuals_;
  std::vector<int> from_outside_;
};

}  // namespace tessera
