#include "tessera/models/mixtral/config.h"

namespace tessera {

void MixtureConfig::fields(ConfigFields& f) {
  f.field("experts", experts).range(1, 65536).help("mixtral: experts a layer.");
  f.field("experts_per_token", experts_per_token)
      .range(1, 65536)
      .help("mixtral: how many of them a token goes through.");
  f.field("capacity_factor", capacity_factor)
      .help(
          "mixtral: tokens of a row that an expert takes, as a multiple of its share under perfect "
          "balance; the others skip it. null: no limit.");
  f.choice("drop_policy", drop_policy,
           {{"position", DropPolicy::kPosition}, {"weight", DropPolicy::kWeight}})
      .help("mixtral, over capacity: leave out a row's last tokens, or those of least weight.");
  f.field("balance_loss", balance_loss)
      .range(0, 1000)
      .help("mixtral: weight of the loss that spreads tokens evenly over experts.");
  f.field("router_z_loss", router_z_loss)
      .range(0, 1000)
      .help("mixtral: weight of the squared logarithm of the router's softmax denominator.");
}

Status MixtureConfig::validate() const {
  if (experts_per_token > experts) {
    return invalid_argument(
        "experts_per_token is ", experts_per_token, ", but there are ", experts,
        experts == 1 ? " expert" : " experts",
        ": a token goes through different ones, so set experts_per_token=", experts, " or less");
  }
  if (capacity_factor && !(*capacity_factor > 0)) {
    return invalid_argument("capacity_factor is ", *capacity_factor,
                            ", which leaves experts no tokens: use 1.25, or null for no limit");
  }
  return absl::OkStatus();
}

}  // namespace tessera
