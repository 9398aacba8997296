#include "tessera/runtime/all_reduce_pace.h"

#include <algorithm>
#include <vector>

#include "tessera/ops/reduce.h"
#include "tessera/runtime/jit.h"

namespace tessera {
namespace {

// x [devices, n], a row a device → the sum of the rows [n], whole on every device.
Result<CompiledFunction> compile_sum(Runtime& runtime, const Mesh& mesh, int64_t elements) {
  const std::vector<NamedShape> parameters = {{"x", {DType::kF32, {mesh.size(), elements}}}};
  ASSIGN_OR_RETURN(const auto graph,
                   trace(parameters, [](Graph&, std::span<const Value> p) -> std::vector<Value> {
                     return {sum(p[0], {0})};
                   }));
  return jit(runtime, *graph,
             {.name = "all_reduce",
              .mesh = mesh,
              .rules = {{"device", {"devices"}}},
              .arguments = {{"x", {"device", ""}}},
              .results = {{"sum", {""}}}});
}

Status check_sum(const Array& sum, float expected) {
  ASSIGN_OR_RETURN(const HostArray value, sum.to_host());
  for (float element : value.as<float>()) {
    if (element != expected)
      return data_loss("an all-reduce gave ", element, " where the sum is ", expected);
  }
  return absl::OkStatus();
}

}  // namespace

Result<AllReducePace> measure_all_reduce(Runtime& runtime, int64_t bytes, int rounds,
                                         const Clock& clock) {
  ASSIGN_OR_RETURN(const Mesh mesh, runtime.mesh({{"devices", -1}}));
  AllReducePace pace{.devices = mesh.size(), .bytes = std::max<int64_t>(bytes / 4, 1) * 4};
  const int64_t elements = pace.bytes / 4;
  ASSIGN_OR_RETURN(const CompiledFunction function, compile_sum(runtime, mesh, elements));
  // A device brings its position + 1: small integers, whose sum is exact in any order.
  const auto row = [](const Box& box) -> Result<HostArray> {
    HostArray part(Shape{DType::kF32, box.dims});
    std::ranges::fill(part.as<float>(), static_cast<float>(box.start[0] + 1));
    return part;
  };
  ASSIGN_OR_RETURN(const Array x,
                   Array::from_shards(runtime, {DType::kF32, {mesh.size(), elements}},
                                      function.arguments()[0].sharding, row));
  const auto expected = static_cast<float>(mesh.size() * (mesh.size() + 1) / 2);
  std::vector<double> seconds;
  for (int round = 0; round <= rounds; ++round) {
    const absl::Duration begin = clock.elapsed();
    ASSIGN_OR_RETURN(const std::vector<Array> sums, function({&x, 1}));
    RETURN_IF_ERROR(sums[0].await());
    if (round > 0) seconds.push_back(absl::ToDoubleSeconds(clock.elapsed() - begin));
    if (round == 0) RETURN_IF_ERROR(check_sum(sums[0], expected));
  }
  std::sort(seconds.begin(), seconds.end());
  pace.seconds = seconds.empty() ? 0 : seconds[seconds.size() / 2];
  return pace;
}

}  // namespace tessera
