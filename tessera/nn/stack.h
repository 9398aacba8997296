#pragma once

#include <functional>

#include "tessera/base/tree.h"
#include "tessera/ops/control.h"

namespace tessera {

/// What a layer gives, and what a stack of them gives.
struct LayerOutput {
  Value x;          ///< the residual stream after it
  Value sums = {};  ///< [n], undefined: none. Each a sum over the rows of the batch, such as a
                    ///< loss of the layer's own; over a stack the layers' are added up.

  LayerOutput(Value stream, Value layer_sums = {}) : x(stream), sums(layer_sums) {}  // NOLINT
};
/// One layer: its own parameters (paths without the stack's prefix) and the residual stream → the
/// stream after it.
using LayerFn = std::function<LayerOutput(const Tree<Value>& params, Value x)>;

struct StackOptions {
  bool scan = true;  ///< one loop over the layers; else their programs one after the other: larger,
                     ///< often faster
  bool remat =
      false;  ///< drop each layer's intermediate results and recompute them in the reverse pass
  RematPolicy policy = save_nothing();  ///< what remat keeps
};

/// Runs the layers whose parameters are stacked in a leading dimension, as Scope::stacked declares
/// them.
LayerOutput run_layers(const Tree<Value>& stacked, Value x, const LayerFn& layer,
                       const StackOptions& options = {});

}  // namespace tessera
