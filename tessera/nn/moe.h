#pragma once

#include <optional>

#include "tessera/nn/activation.h"
#include "tessera/nn/moe_routing.h"
#include "tessera/nn/param.h"
#include "tessera/nn/stack.h"

namespace tessera {

struct MoeConfig {
  int64_t embed = 0;  ///< D
  int64_t mlp = 0;    ///< F, of each expert
  int64_t experts = 0;
  int64_t experts_per_token = 0;
  /// Places an expert and row, as a multiple of what perfect balance takes; unset: dropless.
  std::optional<double> capacity_factor;
  DropPolicy drop_policy = DropPolicy::kPosition;
  Init init;  ///< of router, gate and up
  Init output_init;
  Activation activation = Activation::kSilu;
};

/// Places an expert has for a row of `length` tokens in the first round, and in each further one of
/// the dropless way. Multiples of 8 where the row allows, so that meshes can split them.
struct MoeRounds {
  int64_t capacity = 0;  ///< tokens of a row that an expert takes at most; 0: all
  int64_t first = 0;
  int64_t next = 0;
  int64_t most = 0;  ///< rounds after the first that a row may need
};
MoeRounds moe_rounds(const MoeConfig& config, int64_t length);

/// A mixture of gated feed-forward layers, of which each token takes those that a router chooses:
/// sum_k weight_k * down_k(act(gate_k x) * up_k x). Parameters "router.kernel" [D,E],
/// "gate.kernel" and "up.kernel" [E,D,F], "down.kernel" [E,F,D].
///
/// Tokens are put into places, equally many for each row and expert, which the partitioner
/// exchanges among the devices of the mesh axes of "activation_exp" by all-to-all; expert weights
/// stay. With a capacity there is one round of places. Dropless, what finds none in the first round
/// gets further rounds, run only as long as some row still has tokens waiting anywhere; so the
/// result has no limit, the memory has one, and the work follows the fullest expert.
class Moe {
 public:
  Moe(const Scope& scope, const MoeConfig& config);

  /// x: [B,T,D] → [B,T,D], and router_sums() in the wide dtype.
  LayerOutput operator()(Value x_BTD, const TokenFacts& tokens) const;

 private:
  struct Routed;
  Value run_round(const Routed& routed, Value first, int64_t places) const;
  Value run_further_rounds(const Routed& all, const MoeRounds& rounds) const;
  Value run_experts(const Routed& routed, Value x_BEPD) const;

  MoeConfig config_;
  Param router_, gate_, up_, down_;
  Kernels kernels_;
};

}  // namespace tessera
