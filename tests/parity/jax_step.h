#pragma once

#include "tessera/base/tree.h"
#include "tessera/ir/host_array.h"
#include "tessera/models/llama/config.h"

/// What bench/peers/jax_step.py trains with.
namespace tessera::parity {

/// Its initial parameters: 0.02 times jax.random.normal of nine keys split from key 0; scales of
/// ones. To a few units in the last place, since erf^-1 is not computed in the same way. Needs the
/// test plugin.
Result<Tree<HostArray>> jax_step_params(const LlamaConfig& config);

struct JaxStepBatch {
  HostArray tokens, targets;  ///< s32 [batch, length]
};
/// Its tokens, numpy.random.RandomState(0).randint(0, vocabulary, (batch, length)), twice.
/// `vocabulary` is a power of two.
JaxStepBatch jax_step_batch(int64_t vocabulary, int64_t batch, int64_t length);

}  // namespace tessera::parity
