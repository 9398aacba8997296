#include "tests/parity/jax_step.h"

#include <algorithm>
#include <bit>
#include <random>

#include "tessera/models/llama/model.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/random.h"
#include "tessera/pjrt/testing.h"
#include "tessera/stablehlo/module.h"
#include "tests/parity/formula.h"

namespace tessera::parity {
namespace {

// In the order of jax_step.py's keys.
constexpr std::string_view kDrawn[] = {
    "embedding.table",
    "layers.attention.query.kernel",
    "layers.attention.key.kernel",
    "layers.attention.value.kernel",
    "layers.attention.out.kernel",
    "layers.mlp.gate.kernel",
    "layers.mlp.up.kernel",
    "layers.mlp.down.kernel",
    "head.kernel",
};

// RandomState masks the 32-bit output to the next power of two and rejects what is too large, so
// for a power of two nothing is rejected.
HostArray draw(std::mt19937& bits, uint32_t vocabulary, Dims dims) {
  HostArray array(Shape{DType::kS32, std::move(dims)});
  for (int32_t& token : array.as<int32_t>())
    token = static_cast<int32_t>(bits() & (vocabulary - 1));
  return array;
}

}  // namespace

Result<Tree<HostArray>> jax_step_params(const LlamaConfig& config) {
  const Tree<ParamSpec> specs = llama_params(config);
  const auto body = [&](Graph& graph, std::span<const Value>) -> std::vector<Value> {
    const std::vector<Value> keys = split(random_key(graph, 0), std::size(kDrawn));
    std::vector<Value> drawn;
    for (size_t i = 0; i < keys.size(); ++i) {
      drawn.push_back(normal(keys[i], specs.at(std::string(kDrawn[i])).shape()) * 0.02);
    }
    return drawn;
  };
  ASSIGN_OR_RETURN(const std::shared_ptr<Graph> graph, trace({}, body));
  ASSIGN_OR_RETURN(const std::string text, stablehlo::print_module(*graph));
  ASSIGN_OR_RETURN(std::vector<HostArray> drawn, pjrt::testing::run_stablehlo(text, {}));
  Tree<HostArray> params;
  for (const auto& [path, spec] : specs) {
    const auto found = std::find(std::begin(kDrawn), std::end(kDrawn), path);
    RETURN_IF_ERROR(params.add(path, found == std::end(kDrawn)
                                         ? ones(spec.dims)
                                         : std::move(drawn[static_cast<size_t>(found - kDrawn)])));
  }
  return params;
}

JaxStepBatch jax_step_batch(int64_t vocabulary, int64_t batch, int64_t length) {
  CHECK(std::has_single_bit(static_cast<uint64_t>(vocabulary)));
  std::mt19937 bits(0);
  const auto size = static_cast<uint32_t>(vocabulary);
  HostArray tokens = draw(bits, size, {batch, length});
  return {std::move(tokens), draw(bits, size, {batch, length})};
}

}  // namespace tessera::parity
