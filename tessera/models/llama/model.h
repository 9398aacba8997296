#pragma once

#include "tessera/models/language_model.h"
#include "tessera/models/llama/config.h"

namespace tessera {

/// The parameters of the decoder: "embedding", "layers.*" (stacked), "norm", and "head" unless
/// tied.
Tree<ParamSpec> llama_params(const LlamaConfig& config);

/// Logits [B,T,V] in the compute dtype. `params` are f32, with the paths of llama_params().
/// Source: Touvron et al., LLaMA, 2023, and Hugging Face's LlamaForCausalLM.
Value llama_logits(const Tree<Value>& params, const DecoderInputs& inputs,
                   const LlamaConfig& config, const ComputeOptions& options = {});

/// FLOP of one training step on `batch` sequences of `length` tokens: decoder_step_flop().
double llama_step_flop(const LlamaConfig& config, int64_t batch, int64_t length);

/// The above behind the interface of all models.
class Llama final : public LanguageModel {
 public:
  explicit Llama(LlamaConfig config) : config_(config) {}
  Tree<ParamSpec> params() const override { return llama_params(config_); }
  ModelOutput forward(const Tree<Value>& params, const DecoderInputs& inputs,
                      const ComputeOptions& options) const override {
    return {.logits_BTV = llama_logits(params, inputs, config_, options)};
  }
  int64_t vocab_size() const override { return config_.vocab_size; }
  double step_flop(int64_t batch, int64_t length) const override {
    return llama_step_flop(config_, batch, length);
  }

 private:
  LlamaConfig config_;
};

}  // namespace tessera
