#pragma once

#include "tessera/nn/param.h"
#include "tessera/train/config.h"

namespace tessera {

/// Moments of AdamW: "mu.*" and "nu.*" with the parameters' paths, f32, laid out as the parameters
/// are.
Tree<ParamSpec> adamw_state(const Tree<ParamSpec>& params);

struct AdamwStep {
  Value count;          ///< f32[]: this update's number, from 1
  Value learning_rate;  ///< f32[]
};
struct AdamwResult {
  Tree<Value> params;
  Tree<Value> state;
};
/// One update. Decay applies where config.no_decay does not match the parameter's path.
/// Source: Loshchilov and Hutter, Decoupled Weight Decay Regularization, 2019.
AdamwResult adamw(const Tree<Value>& params, const Tree<Value>& grads, const Tree<Value>& state,
                  const AdamwStep& step, const OptimizerConfig& config);

/// Euclidean norms of gradients.
struct GradientNorms {
  Value global;  ///< f32[]
  Value each;    ///< f32[n], in the tree's order: where a bad number shows first
};
GradientNorms gradient_norms(const Tree<Value>& grads);
/// grads * min(1, clip / norm). Source: Pascanu, Mikolov and Bengio, 2013.
Tree<Value> clip_by_global_norm(const Tree<Value>& grads, Value global_norm, double clip);

}  // namespace tessera
