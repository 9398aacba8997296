#pragma once

#include <string>
#include <vector>

#include "tessera/nn/stack.h"
#include "tessera/train/training_config.h"

namespace tessera {

/// What training.remat may be, but for custom: from what computes nothing twice to what keeps
/// nothing but each layer's input.
const std::vector<std::string>& remat_policies();

/// How the layers are run: what each keeps for the reverse pass. The named values are those of
/// checkpoint_name() in nn/: decoder_layer_input, query_proj, key_proj, value_proj, qkv_proj,
/// context (what attention mixed), out_proj, mlpwi_0, mlpwi_1, mlpwo.
StackOptions stack_options(const TrainingConfig& training);

}  // namespace tessera
