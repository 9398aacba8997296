#pragma once

#include <functional>

#include "tessera/models/language_model.h"
#include "tessera/models/llama/config.h"

/// The decoder that families share: token embedding, layers of attention and a feed-forward part
/// that the family gives, a norm, the output head.
namespace tessera {

/// A layer's feed-forward part: the normalized stream [B,T,D] and, of the same rows, segment ids,
/// mask and order → what is added to the stream, and sums of the layer (see LayerOutput).
using FeedForward = std::function<LayerOutput(Value normed_BTD, const DecoderInputs& inputs)>;
/// Makes it in a layer's scope, in which it declares its parameters, or binds them.
using MakeFeedForward = std::function<FeedForward(const Scope& layer)>;

/// The parameters: "embedding", "layers.*" (stacked), "norm", and "head" unless tied. `config.mlp`
/// is for the feed-forward part alone.
Tree<ParamSpec> decoder_params(const LlamaConfig& config, const MakeFeedForward& feed_forward);

struct DecoderOutput {
  Value logits_BTV;  ///< in the compute dtype
  Value sums = {};   ///< of the layers, added up; undefined: none
};
/// `params` are f32, with the paths of decoder_params().
DecoderOutput decoder_forward(const Tree<Value>& params, const DecoderInputs& inputs,
                              const LlamaConfig& config, const ComputeOptions& options,
                              const MakeFeedForward& feed_forward);

/// FLOP of one training step on `batch` sequences of `length` tokens, forward and backward: 6 a
/// weight and token of every matrix (the embedding lookup is none), and 6·T a head width and token
/// for causal attention, whose half is not computed. `feed_forward_weights`: those of a layer that
/// a token meets.
double decoder_step_flop(const LlamaConfig& config, double feed_forward_weights, int64_t batch,
                         int64_t length);

/// Initial values of the projections back into the stream: smaller, so that its variance does not
/// grow with depth. Source: Radford et al., GPT-2, 2019: 1 / sqrt(2 layers), one factor for each of
/// a layer's two additions.
Init decoder_output_init(const LlamaConfig& config);

}  // namespace tessera
