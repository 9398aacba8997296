#pragma once

#include <cstdint>
#include <string>

#include "tessera/base/json.h"
#include "tessera/base/tree.h"
#include "tessera/ir/host_array.h"
#include "tessera/models/llama/config.h"
#include "tessera/nn/param.h"

/// Weights and tokens that a formula gives, the same to the bit as formula.py, and the golden files
/// that the scripts in this folder make from them.
namespace tessera::parity {

/// f32 in [-1, 1) / 32 * gain; gain is a power of two.
HostArray weights(uint32_t stream, Dims dims, float gain = 1);
/// f32 in [0.5, 1.5).
HostArray scales(uint32_t stream, Dims dims);
HostArray ones(Dims dims);
/// s32 in [0, vocabulary).
HostArray tokens(uint32_t stream, int64_t vocabulary, Dims dims);

/// The model of a golden file.
LlamaConfig config_of(const Json& golden);
struct ParamOptions {
  float gain = 1;
  bool random_scales = false;  ///< of the normalizations; else ones
};
/// A model's parameters, with the streams that the scripts give them.
Tree<HostArray> weights_of(const Tree<ParamSpec>& specs, const ParamOptions& options);
Tree<HostArray> llama_weights(const LlamaConfig& config, const ParamOptions& options);

/// golden/<file>, or the error why not.
Result<Json> load_golden(const std::string& file);

}  // namespace tessera::parity
