#pragma once

#include "tessera/base/tree.h"
#include "tessera/ir/graph.h"

namespace tessera {

/// Elements left out at random while a model trains. Which ones is a function of the key and of
/// their place in the whole tensor: the same on any mesh, and again where layers are recomputed.
struct Dropout {
  double rate = 0;  ///< the probability of leaving an element out; 0: none are
  Value key = {};   ///< u32[2], of this step; defined where rate > 0
  /// s32[T]: which place each column of a [B,T,D] has, where columns stand in another order.
  Value order_T = {};

  bool active() const { return rate > 0; }
  /// For one place of many: a layer, an addition to the stream.
  Dropout at(Value place) const;
  Dropout at(uint32_t place) const;
  Dropout with_key(Value next) const;
};

/// x with elements set to zero with probability rate, the others divided by 1 - rate.
/// Source: Srivastava et al., Dropout, 2014.
Value dropout(Value x, const Dropout& dropout);

/// Stacked layers' parameters, and in "layer_index" each layer's number where dropout needs it.
Tree<Value> with_layer_index(Tree<Value> stacked, const Dropout& dropout);
/// In a layer: dropout of that layer, by its parameters.
Dropout of_layer(const Dropout& dropout, const Tree<Value>& params);

}  // namespace tessera
