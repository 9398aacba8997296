#pragma once

#include "tessera/ir/graph.h"

namespace tessera {

/// What the gate of a gated MLP goes through: SwiGLU or GeGLU.
enum class Activation {
  kSilu,  ///< x · logistic(x)
  kGelu   ///< GELU by its tanh approximation ("gelu_pytorch_tanh")
};

Value activate(Value x, Activation activation);

}  // namespace tessera
