#pragma once

#include "tessera/nn/activation.h"
#include "tessera/nn/param.h"

namespace tessera {

struct GatedMlpConfig {
  int64_t embed = 0;  ///< D
  int64_t mlp = 0;    ///< F
  Init init;          ///< of gate and up
  Init output_init;
  Activation activation = Activation::kSilu;
};

/// down(act(gate x) * up x): parameters "gate.kernel" and "up.kernel" [D,F], "down.kernel" [F,D].
/// Source: Shazeer, GLU Variants Improve Transformer, 2020 (SwiGLU, GeGLU).
class GatedMlp {
 public:
  GatedMlp(const Scope& scope, const GatedMlpConfig& config);

  /// [B,T,D] → [B,T,D].
  Value operator()(Value x_BTD) const;

 private:
  Param gate_, up_, down_;
  Activation activation_;
  Kernels kernels_;
};

}  // namespace tessera
