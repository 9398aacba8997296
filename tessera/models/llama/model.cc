#include "tessera/models/llama/model.h"

#include <cmath>

#include "tessera/nn/gated_mlp.h"
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

// The projections back into the stream begin smaller, so that its variance does not grow with
// depth. Source: Radford et al., GPT-2, 2019: 1 / sqrt(2 layers), one factor for each of a block's
// two additions.
Init output_init(const LlamaConfig& c) {
  return Init::normal(c.init_stddev / std::sqrt(2.0 * static_cast<double>(c.layers)));
}

struct Block {
  Param attention_norm, mlp_norm;
  SelfAttention attention;
  GatedMlp mlp;
  double epsilon;

  Block(const Scope& scope, const LlamaConfig& c)
      : attention_norm(
            scope.child("attention_norm").param("scale", {c.embed}, {"norm"}, Init::ones())),
        mlp_norm(scope.child("mlp_norm").param("scale", {c.embed}, {"norm"}, Init::ones())),
        attention(scope.child("attention"), {.embed = c.embed,
                                             .heads = c.heads,
                                             .kv_heads = c.kv_heads,
                                             .head_dim = c.resolved_head_dim(),
                                             .init = Init::normal(c.init_stddev),
                                             .output_init = output_init(c)}),
        mlp(scope.child("mlp"), {.embed = c.embed,
                                 .mlp = c.mlp,
                                 .init = Init::normal(c.init_stddev),
                                 .output_init = output_init(c)}),
        epsilon(c.norm_epsilon) {}

  Value operator()(Value x_BTD, const RotaryTables& rotary, Value segment_ids_BT) const {
    Graph& graph = x_BTD.graph();
    {
      const auto scope = graph.scope("attention");
      x_BTD = constrain(
          x_BTD + attention(rms_norm(x_BTD, attention_norm, epsilon), rotary, segment_ids_BT),
          kStream);
    }
    const auto scope = graph.scope("mlp");
    return constrain(x_BTD + mlp(rms_norm(x_BTD, mlp_norm, epsilon)), kStream);
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
  return iota(inputs.tokens_BT.graph(), Shape{DType::kS32, {inputs.tokens_BT.dim(1)}}, 0);
}

}  // namespace

Tree<ParamSpec> llama_params(const LlamaConfig& config) {
  Tree<ParamSpec> specs;
  const Scope scope = Scope::declare(specs);
  Decoder(scope, config);
  Block(scope.stacked("layers", config.layers), config);
  return specs;
}

Value llama_logits(const Tree<Value>& params, const DecoderInputs& inputs,
                   const LlamaConfig& config, const ComputeOptions& options) {
  Graph& graph = inputs.tokens_BT.graph();
  const Decoder decoder(Scope::bind(params, options.dtype), config);
  const RotaryTables rotary =
      rotary_tables(positions_or_default(inputs), config.resolved_head_dim(), config.rope_theta);
  Value x_BTD;
  {
    const auto scope = graph.scope("embedding");
    // Rows are gathered whole: split along the width over the axes that split the batch too, a
    // lookup could not be laid out as the stream is without passing through a replicated copy.
    const Value table_VD = constrain(decoder.embedding, {"vocab", ""});
    x_BTD = constrain(take(table_VD, inputs.tokens_BT, 0), kStream);
  }
  {
    const auto scope = graph.scope("layers");
    const LayerFn layer = [&](const Tree<Value>& values, Value stream) {
      return LayerOutput(
          Block(Scope::bind(values, options.dtype), config)(stream, rotary, inputs.segment_ids_BT));
    };
    x_BTD = run_layers(params.subtree("layers"), x_BTD, layer, options.stack).x;
  }
  const auto scope = graph.scope("head");
  const Value normed_BTD = rms_norm(x_BTD, decoder.norm, config.norm_epsilon);
  const Value logits_BTV = config.tied_embeddings
                               ? einsum("btd,vd->btv", {normed_BTD, decoder.embedding})
                               : matmul(normed_BTD, decoder.head);
  return constrain(logits_BTV,
                   {"activation_embed_and_logits_batch", "activation_length", "activation_vocab"});
}

double llama_step_flop(const LlamaConfig& c, int64_t batch, int64_t length) {
  const double d = static_cast<double>(c.embed), head = static_cast<double>(c.resolved_head_dim());
  const double attention_weights = d * head * static_cast<double>(2 * c.heads + 2 * c.kv_heads);
  const double layer_weights = attention_weights + 3 * d * static_cast<double>(c.mlp);
  const double weights =
      static_cast<double>(c.layers) * layer_weights + d * static_cast<double>(c.vocab_size);
  const double tokens = static_cast<double>(batch * length);
  const double scores =
      6 * static_cast<double>(c.layers * c.heads) * head * static_cast<double>(length);
  return tokens * (6 * weights + scores);
}

}  // namespace tessera
