#include "tessera/models/mixtral/model.h"

#include "tessera/models/decoder.h"
#include "tessera/nn/moe.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/shape.h"

namespace tessera {
namespace {

TokenFacts facts_of(const DecoderInputs& inputs) {
  TokenFacts tokens{.order_T = inputs.order_T};
  if (inputs.segment_ids_BT.defined()) tokens.text_BT = not_equal(inputs.segment_ids_BT, 0);
  if (inputs.mask_BT.defined()) tokens.counted_BT = not_equal(inputs.mask_BT, 0);
  return tokens;
}

MakeFeedForward mixture(const MixtralConfig& config) {
  return [&config](const Scope& layer) -> FeedForward {
    const LlamaConfig& c = config.decoder;
    const Moe moe(layer.child("moe"), {.embed = c.embed,
                                       .mlp = c.mlp,
                                       .experts = config.mixture.experts,
                                       .experts_per_token = config.mixture.experts_per_token,
                                       .capacity_factor = config.mixture.capacity_factor,
                                       .drop_policy = config.mixture.drop_policy,
                                       .init = Init::normal(c.init_stddev),
                                       .output_init = decoder_output_init(c),
                                       .activation = c.activation});
    return [moe](Value normed_BTD, const DecoderInputs& inputs) {
      return moe(normed_BTD, facts_of(inputs));
    };
  };
}

Value at(Value sums, int i) { return squeeze(slice_in_dim(sums, 0, i, i + 1), {0}); }

}  // namespace

Tree<ParamSpec> Mixtral::params() const {
  return decoder_params(config_.decoder, mixture(config_));
}

ModelOutput Mixtral::forward(const Tree<Value>& params, const DecoderInputs& inputs,
                             const ComputeOptions& options) const {
  const DecoderOutput output =
      decoder_forward(params, inputs, config_.decoder, options, mixture(config_));
  const MixtureConfig& mixture = config_.mixture;
  const double layers = static_cast<double>(config_.decoder.layers);
  Value loss;
  if (mixture.balance_loss > 0)
    loss = at(output.sums, kBalanceSum) * (mixture.balance_loss / layers);
  if (mixture.router_z_loss > 0) {
    const Value z = at(output.sums, kZSum) * (mixture.router_z_loss / layers);
    loss = loss.defined() ? loss + z : z;
  }
  return {.logits_BTV = output.logits_BTV, .aux_loss_sum = loss, .statistics = output.sums};
}

double Mixtral::step_flop(int64_t batch, int64_t length) const {
  const LlamaConfig& c = config_.decoder;
  const double embed = static_cast<double>(c.embed), mlp = static_cast<double>(c.mlp);
  const double router = embed * static_cast<double>(config_.mixture.experts);
  const double experts = 3 * embed * mlp * static_cast<double>(config_.mixture.experts_per_token);
  return decoder_step_flop(c, router + experts, batch, length);
}

std::vector<std::string> Mixtral::metric_names() const {
  return {"moe_balance_loss", "moe_z_loss", "moe_dropped", "moe_load_max", "moe_load_min"};
}

std::vector<Value> Mixtral::metrics(Value statistics, int64_t rows) const {
  const double layers_and_rows = static_cast<double>(config_.decoder.layers * rows);
  const Value load = slice_in_dim(statistics, 0, kLoadSums, statistics.dim(0));
  const Value total = maximum(sum(load), 1.0);
  const Value share = load * static_cast<double>(config_.mixture.experts) / total;
  return {at(statistics, kBalanceSum) / layers_and_rows, at(statistics, kZSum) / layers_and_rows,
          at(statistics, kDroppedSum) / total, max(share), min(share)};
}

}  // namespace tessera
