#pragma once

#include "tessera/models/language_model.h"
#include "tessera/models/mixtral/config.h"

namespace tessera {

/// A decoder whose feed-forward layers are mixtures of experts.
/// Source: Jiang et al., Mixtral of Experts, 2024, and Hugging Face's MixtralForCausalLM.
class Mixtral final : public LanguageModel {
 public:
  explicit Mixtral(MixtralConfig config) : config_(std::move(config)) {}

  /// Those of decoder_params() with Moe's in "layers.moe".
  Tree<ParamSpec> params() const override;
  /// aux_loss_sum: the balance loss and the router's z-loss, weighted, the mean over the layers,
  /// summed over the rows.
  ModelOutput forward(const Tree<Value>& params, const DecoderInputs& inputs,
                      const ComputeOptions& options) const override;
  int64_t vocab_size() const override { return config_.decoder.vocab_size; }
  /// decoder_step_flop() with the router and the experts that a token goes through; places that
  /// stay empty, and work that is repeated, are not counted.
  double step_flop(int64_t batch, int64_t length) const override;

  /// "moe_balance_loss" (unweighted; experts_per_token is perfect), "moe_z_loss" (unweighted),
  /// "moe_dropped" (share of assignments), "moe_load_max", "moe_load_min" (of an expert over all
  /// layers, relative to the mean).
  std::vector<std::string> metric_names() const override;
  std::vector<Value> metrics(Value statistics, int64_t rows) const override;

 private:
  MixtralConfig config_;
};

}  // namespace tessera
