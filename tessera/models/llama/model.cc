#include "tessera/models/llama/model.h"

#include "tessera/models/decoder.h"
#include "tessera/nn/gated_mlp.h"

namespace tessera {
namespace {

MakeFeedForward gated_mlp(const LlamaConfig& c) {
  return [&c](const Scope& layer) -> FeedForward {
    const GatedMlp mlp(layer.child("mlp"), {.embed = c.embed,
                                            .mlp = c.mlp,
                                            .init = Init::normal(c.init_stddev),
                                            .output_init = decoder_output_init(c),
                                            .activation = c.activation});
    return [mlp](Value normed_BTD, const DecoderInputs&) { return mlp(normed_BTD); };
  };
}

}  // namespace

Tree<ParamSpec> llama_params(const LlamaConfig& config) {
  return decoder_params(config, gated_mlp(config));
}

Value llama_logits(const Tree<Value>& params, const DecoderInputs& inputs,
                   const LlamaConfig& config, const ComputeOptions& options) {
  return decoder_forward(params, inputs, config, options, gated_mlp(config)).logits_BTV;
}

double llama_step_flop(const LlamaConfig& config, int64_t batch, int64_t length) {
  const double weights = 3 * static_cast<double>(config.embed) * static_cast<double>(config.mlp);
  return decoder_step_flop(config, weights, batch, length);
}

}  // namespace tessera
