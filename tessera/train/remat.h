#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/status.h"
#include "tessera/nn/stack.h"
#include "tessera/train/training_config.h"

namespace tessera {

/// What training.remat may be, but for custom: from what computes nothing twice to what keeps
/// nothing but each layer's input.
const std::vector<std::string>& remat_policies();
/// And these, which keep what their names say in the host's memory.
const std::vector<std::string>& offloading_policies();
/// What custom may name: the values named by checkpoint_name() in nn/ (context is what attention
/// mixed, mlpwi the first products of an MLP, mlpwo its last).
const std::vector<std::string>& named_activations();

/// An error of usage where activations would be moved to the host's memory on a platform whose
/// compiler moves none. Only the CPU's is known to be one.
Status check_offloading(const TrainingConfig& training, std::string_view platform);

/// How the layers are run: what each keeps for the reverse pass, and where.
StackOptions stack_options(const TrainingConfig& training);

}  // namespace tessera
