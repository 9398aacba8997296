#pragma once

#include <functional>

#include "tessera/base/tree.h"
#include "tessera/ops/control.h"

namespace tessera {

/// One layer: its own parameters (paths without the stack's prefix) and the residual stream → the
/// stream after it.
using LayerFn = std::function<Value(const Tree<Value>& params, Value x)>;

struct StackOptions {
  bool scan = true;  ///< one loop over the layers; else their programs one after the other: larger,
                     ///< often faster
  bool remat =
      false;  ///< drop each layer's intermediate results and recompute them in the reverse pass
  RematPolicy policy = save_nothing();  ///< what remat keeps
};

/// Runs the layers whose parameters are stacked in a leading dimension, as Scope::stacked declares
/// them.
Value run_layers(const Tree<Value>& stacked, Value x, const LayerFn& layer,
                 const StackOptions& options = {});

}  // namespace tessera
