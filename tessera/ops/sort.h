#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "tessera/ir/op.h"

namespace tessera {

// Sorting. Floats are ordered with NaN greatest, so NaN stands last, or first when descending; -0
// equals +0. false < true.

struct SortOptions {
  int dim = -1;
  bool descending = false;
  bool stable = true;  ///< equal keys keep their order, also when descending
  int num_keys = 1;    ///< the first operands, compared in turn; the others go along
};

struct TopKAttrs {
  int64_t k;
};

extern const OpDef kSort;  // attrs: SortOptions, dim not negative
extern const OpDef kTopK;  // attrs: TopKAttrs

/// Sorts along a dim. x: [B,N] → [B,N].
Value sort(Value x, const SortOptions& options = {});
/// Sorts the operands, all of one shape, by the first `num_keys` of them: key-value sort.
/// n × [B,N] → n × [B,N].
std::vector<Value> sort(std::span<const Value> operands, const SortOptions& options = {});
std::vector<Value> sort(std::initializer_list<Value> operands, const SortOptions& options = {});

/// The indices that would sort x along the dim. x: [B,N] → s32[B,N]. num_keys must be 1.
Value argsort(Value x, const SortOptions& options = {});

/// The k largest along the last dim, largest first; of equal ones the lower index first.
/// x: [..,N] → values [..,k] and indices s32[..,k]. Zeros of both signs count as different here
/// (-0 < +0), and a NaN with its sign bit set as smallest: the order that devices' own top-k have.
/// The values' gradient goes to the elements that were chosen.
struct TopK {
  Value values;
  Value indices;
};
TopK top_k(Value x, int64_t k);

}  // namespace tessera
