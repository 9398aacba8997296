#include "tests/parity/formula.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tessera/models/llama/model.h"

namespace tessera::parity {
namespace {

// Source: the finalizer of MurmurHash3 (Appleby).
uint32_t hashed(uint32_t stream, uint32_t element) {
  uint32_t x = element + (stream + 1) * 0x9E3779B9u;
  x = (x ^ (x >> 16)) * 0x85EBCA6Bu;
  x = (x ^ (x >> 13)) * 0xC2B2AE35u;
  return x ^ (x >> 16);
}

uint32_t stream_of(const std::string& path) {
  static const std::pair<const char*, uint32_t> kStreams[] = {
      {"embedding.table", 0},
      {"layers.attention.query.kernel", 1},
      {"layers.attention.key.kernel", 2},
      {"layers.attention.value.kernel", 3},
      {"layers.attention.out.kernel", 4},
      {"layers.mlp.gate.kernel", 5},
      {"layers.mlp.up.kernel", 6},
      {"layers.mlp.down.kernel", 7},
      {"head.kernel", 8},
      {"layers.attention_norm.scale", 9},
      {"layers.mlp_norm.scale", 10},
      {"norm.scale", 11},
      {"layers.moe.router.kernel", 12},
      {"layers.moe.gate.kernel", 13},
      {"layers.moe.up.kernel", 14},
      {"layers.moe.down.kernel", 15},
  };
  for (const auto& [name, stream] : kStreams) {
    if (path == name) return stream;
  }
  CHECK_MSG(false, "no stream for " + path);
  return 0;
}

}  // namespace

HostArray weights(uint32_t stream, Dims dims, float gain) {
  HostArray array(Shape{DType::kF32, std::move(dims)});
  const auto out = array.as<float>();
  for (uint32_t i = 0; i < out.size(); ++i) {
    const float top = static_cast<float>(hashed(stream, i) >> 8);
    out[i] = (top * 0x1p-23f - 1) * 0x1p-5f * gain;
  }
  return array;
}

HostArray scales(uint32_t stream, Dims dims) {
  HostArray array = weights(stream, std::move(dims));
  for (float& value : array.as<float>()) value = value * 16 + 1;
  return array;
}

HostArray ones(Dims dims) {
  HostArray array(Shape{DType::kF32, std::move(dims)});
  for (float& value : array.as<float>()) value = 1;
  return array;
}

HostArray tokens(uint32_t stream, int64_t vocabulary, Dims dims) {
  HostArray array(Shape{DType::kS32, std::move(dims)});
  const auto out = array.as<int32_t>();
  for (uint32_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<int32_t>(hashed(stream, i) % static_cast<uint32_t>(vocabulary));
  return array;
}

LlamaConfig config_of(const Json& golden) {
  LlamaConfig config;
  config.vocab_size = golden.at("vocabulary");
  config.layers = golden.at("layers");
  config.embed = golden.at("embed");
  config.mlp = golden.at("mlp");
  config.heads = golden.at("heads");
  config.kv_heads = golden.value("kv_heads", config.heads);
  if (golden.contains("head_dim")) config.head_dim = golden.at("head_dim").get<int64_t>();
  config.rope_theta = golden.value("theta", 10000.0);
  config.norm_epsilon = golden.value("epsilon", 1e-6);
  if (golden.contains("sliding_window"))
    config.sliding_window = golden.at("sliding_window").get<int64_t>();
  if (golden.value("activation", "silu") == "gelu") config.activation = Activation::kGelu;
  config.tied_embeddings = golden.value("tied", false);
  return config;
}

Tree<HostArray> weights_of(const Tree<ParamSpec>& specs, const ParamOptions& options) {
  return specs.map([&](const std::string& path, const ParamSpec& spec) {
    const uint32_t stream = stream_of(path);
    if (!path.ends_with("scale")) return weights(stream, spec.dims, options.gain);
    return options.random_scales ? scales(stream, spec.dims) : ones(spec.dims);
  });
}

Tree<HostArray> llama_weights(const LlamaConfig& config, const ParamOptions& options) {
  return weights_of(llama_params(config), options);
}

Result<Json> load_golden(const std::string& file) {
  const std::string path = str_cat(TESSERA_GOLDEN_DIR, "/", file);
  std::ifstream stream(path);
  if (!stream) return not_found("no golden file ", path, ": the scripts in tests/parity make it");
  std::stringstream text;
  text << stream.rdbuf();
  return parse_json(text.str(), path);
}

}  // namespace tessera::parity
