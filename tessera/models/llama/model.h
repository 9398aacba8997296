#pragma once

#include "tessera/models/llama/config.h"
#include "tessera/nn/param.h"
#include "tessera/nn/stack.h"

namespace tessera {

/// How a model is computed, apart from what it computes.
struct ComputeOptions {
  DType dtype = DType::kF32;  ///< of activations and of the weights as layers see them
  StackOptions stack;
};

/// The parameters of the decoder: "embedding", "layers.*" (stacked), "norm", and "head" unless
/// tied.
Tree<ParamSpec> llama_params(const LlamaConfig& config);

struct LlamaInputs {
  Value tokens_BT;          ///< s32
  Value positions_BT = {};  ///< s32; 0, 1, 2, ... unless given
  Value segment_ids_BT =
      {};  ///< s32; attention stays inside a segment; one segment a row unless given
};

/// Logits [B,T,V] in the compute dtype. `params` are f32, with the paths of llama_params().
/// Source: Touvron et al., LLaMA, 2023, and Hugging Face's LlamaForCausalLM.
Value llama_logits(const Tree<Value>& params, const LlamaInputs& inputs, const LlamaConfig& config,
                   const ComputeOptions& options = {});

/// FLOP of one training step on `batch` sequences of `length` tokens, forward and backward: 6 a
/// weight and token of every matrix (the embedding lookup is none), and 6·T a head width and token
/// for causal attention, whose half is not computed.
double llama_step_flop(const LlamaConfig& config, int64_t batch, int64_t length);

}  // namespace tessera
