#include "tessera/models/decoder.h"

#include <cmath>

#include "tessera/nn/dropout.h"
#include "tessera/nn/fused_norm.h"
#include "tessera/nn/layers.h"
#include "tessera/nn/self_attention.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/indexing.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/shape.h"
#include "tessera/ops/sharding_ops.h"

// Shapes: B batch, T positions, D model width, V vocabulary.

namespace tessera {
namespace {

using Names = std::vector<std::string>;

// The stream of the residual additions.
const Names kStream = {"activation_batch", "activation_norm_length", "activation_embed"};

// What layers need beside the stream.
struct LayerInputs {
  SequenceContext sequence;
  Value mask_BT;  // or undefined

  // What has a row for each row of the stream, and the same for other rows.
  std::vector<Value> rows() const {
    std::vector<Value> values = sequence.rows();
    if (mask_BT.defined()) values.push_back(mask_BT);
    return values;
  }
  LayerInputs with_rows(std::span<const Value> rows) const {
    const bool masked = mask_BT.defined();
    return {sequence.with_rows(rows.first(rows.size() - masked)), masked ? rows.back() : Value()};
  }

  DecoderInputs of_feed_forward() const {
    return {.tokens_BT = {},
            .segment_ids_BT = sequence.segment_ids_BT,
            .mask_BT = mask_BT,
            .order_T = sequence.order_T};
  }
};

struct Block {
  Param attention_norm, mlp_norm;
  SelfAttention attention;
  FeedForward feed_forward;
  Kernels kernels;
  double epsilon;

  Block(const Scope& scope, const LlamaConfig& c, const MakeFeedForward& make_feed_forward)
      : attention_norm(
            scope.child("attention_norm").param("scale", {c.embed}, {"norm"}, Init::ones())),
        mlp_norm(scope.child("mlp_norm").param("scale", {c.embed}, {"norm"}, Init::ones())),
        attention(scope.child("attention"), {.embed = c.embed,
                                             .heads = c.heads,
                                             .kv_heads = c.kv_heads,
                                             .head_dim = c.resolved_head_dim(),
                                             .init = Init::normal(c.init_stddev),
                                             .output_init = decoder_output_init(c),
                                             .rule = {.window = c.sliding_window.value_or(0),
                                                      .soft_cap = c.attention_soft_cap}}),
        feed_forward(make_feed_forward(scope)),
        kernels(scope.kernels()),
        epsilon(c.norm_epsilon) {}

  LayerOutput operator()(Value x_BTD, const LayerInputs& inputs, const AttentionOptions& options,
                         const Dropout& drop) const {
    Graph& graph = x_BTD.graph();
    Value added_BTD;
    {
      const auto scope = graph.scope("attention");
      const NormedStream before = norm_stream(x_BTD, {}, attention_norm, epsilon, kernels);
      x_BTD = before.stream;
      added_BTD = dropout(attention(before.normed, inputs.sequence, options), drop.at(0u));
    }
    const auto scope = graph.scope("mlp");
    const NormedStream before = norm_stream(x_BTD, added_BTD, mlp_norm, epsilon, kernels);
    const LayerOutput added = feed_forward(before.normed, inputs.of_feed_forward());
    return {constrain(before.stream + dropout(added.x, drop.at(1u)), kStream), added.sums};
  }
};

struct Decoder {
  Param embedding, norm, head;

  Decoder(const Scope& scope, const LlamaConfig& c)
      : embedding(scope.child("embedding")
                      .param("table", {c.vocab_size, c.embed}, {"vocab", "embed_vocab"},
                             Init::normal(c.init_stddev))),
        norm(scope.child("norm").param("scale", {c.embed}, {"norm"}, Init::ones())) {
    if (c.tied_embeddings) return;
    head = scope.child("head").param("kernel", {c.embed, c.vocab_size}, {"embed_vocab", "vocab"},
                                     Init::normal(c.init_stddev));
  }
};

Value positions_or_default(const DecoderInputs& inputs) {
  if (inputs.positions_BT.defined()) return inputs.positions_BT;
  if (inputs.order_T.defined()) return inputs.order_T;
  return iota(inputs.tokens_BT.graph(), Shape{DType::kS32, {inputs.tokens_BT.dim(1)}}, 0);
}

}  // namespace

Tree<ParamSpec> decoder_params(const LlamaConfig& config, const MakeFeedForward& feed_forward) {
  Tree<ParamSpec> specs;
  const Scope scope = Scope::declare(specs);
  Decoder(scope, config);
  Block(scope.stacked("layers", config.layers), config, feed_forward);
  return specs;
}

DecoderOutput decoder_forward(const Tree<Value>& params, const DecoderInputs& inputs,
                              const LlamaConfig& config, const ComputeOptions& options,
                              const MakeFeedForward& feed_forward) {
  Graph& graph = inputs.tokens_BT.graph();
  const Decoder decoder(Scope::bind(params, options.dtype, options.kernels), config);
  const LayerInputs all_rows{
      {.rotary = rotary_tables(positions_or_default(inputs), config.resolved_head_dim(),
                               config.rope_theta),
       .segment_ids_BT = inputs.segment_ids_BT,
       .order_T = inputs.order_T},
      inputs.mask_BT};
  Value x_BTD, sums;
  {
    const auto scope = graph.scope("embedding");
    // Rows are gathered whole: split along the width over the axes that split the batch too, a
    // lookup could not be laid out as the stream is without passing through a replicated copy.
    const Value table_VD = constrain(decoder.embedding, {"vocab", ""});
    x_BTD = constrain(take(table_VD, inputs.tokens_BT, 0), kStream);
    x_BTD = dropout(x_BTD, options.dropout.at(0u));
  }
  {
    const auto scope = graph.scope("layers");
    const Dropout drop = options.dropout.at(1u);
    const LayerFn layer = [&](const Tree<Value>& values, Value stream,
                              std::span<const Value> rows) {
      return Block(Scope::bind(values, options.dtype, options.kernels), config, feed_forward)(
          stream, all_rows.with_rows(rows), options.attention, of_layer(drop, values));
    };
    const LayerOutput output = run_layers(with_layer_index(params.subtree("layers"), drop),
                                          {x_BTD, all_rows.rows()}, layer, options.stack);
    x_BTD = output.x;
    sums = output.sums;
  }
  const auto scope = graph.scope("head");
  const Value normed_BTD =
      norm_stream(x_BTD, {}, decoder.norm, config.norm_epsilon, options.kernels).normed;
  const Value logits_BTV = config.tied_embeddings
                               ? einsum("btd,vd->btv", {normed_BTD, decoder.embedding})
                               : matmul(normed_BTD, decoder.head);
  const Names names = {"activation_embed_and_logits_batch", "activation_length",
                       "activation_vocab"};
  return {constrain(logits_BTV, names), sums};
}

double decoder_step_flop(const LlamaConfig& c, double feed_forward_weights, int64_t batch,
                         int64_t length) {
  const double d = static_cast<double>(c.embed), head = static_cast<double>(c.resolved_head_dim());
  const double attention_weights = d * head * static_cast<double>(2 * c.heads + 2 * c.kv_heads);
  const double layer_weights = attention_weights + feed_forward_weights;
  const double weights =
      static_cast<double>(c.layers) * layer_weights + d * static_cast<double>(c.vocab_size);
  const double tokens = static_cast<double>(batch * length);
  const double scores =
      6 * static_cast<double>(c.layers * c.heads) * head * static_cast<double>(length);
  return tokens * (6 * weights + scores);
}

Init decoder_output_init(const LlamaConfig& c) {
  return Init::normal(c.init_stddev / std::sqrt(2.0 * static_cast<double>(c.layers)));
}

}  // namespace tessera
