#pragma once

#include <cstdint>
#include <optional>

#include "tessera/base/config.h"
#include "tessera/models/llama/config.h"
#include "tessera/nn/moe_routing.h"

namespace tessera {

/// The mixture of experts in each layer of a decoder. Names in Hugging Face's MixtralConfig are
/// beside them.
struct MixtureConfig {
  int64_t experts = 8;            ///< num_local_experts
  int64_t experts_per_token = 2;  ///< num_experts_per_tok
  std::optional<double> capacity_factor;
  DropPolicy drop_policy = DropPolicy::kPosition;
  double balance_loss = 0.01;  ///< router_aux_loss_coef
  double router_z_loss = 0;

  void fields(ConfigFields& f);
  Status validate() const;
  bool operator==(const MixtureConfig&) const = default;
};

/// A Mixtral-style decoder: Llama's, with `decoder.mlp` the width of each expert.
struct MixtralConfig {
  LlamaConfig decoder;
  MixtureConfig mixture;
};

}  // namespace tessera
