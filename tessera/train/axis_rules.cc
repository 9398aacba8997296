#include "tessera/train/axis_rules.h"

namespace tessera {

AxisRules default_axis_rules() {
  return AxisRules({
      {"activation_batch", {"data", "fsdp"}},
      {"activation_length", {}},
      {"activation_embed", {}},
      {"activation_heads", {"tensor"}},
      {"activation_kv_heads", {"tensor"}},
      {"activation_mlp", {"tensor"}},
      {"activation_vocab", {"tensor"}},
      {"layers", {}},
      {"vocab", {"tensor"}},
      {"q_heads", {"tensor"}},
      {"kv_heads", {"tensor"}},
      {"mlp", {"tensor"}},
      {"embed", {"fsdp"}},
      {"embed_vocab", {"fsdp"}},
      {"kv", {}},
      {"norm", {}},
  });
}

}  // namespace tessera
