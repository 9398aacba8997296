#include "tests/processes/programs.h"

#include <algorithm>

#include "tessera/coord/shared_values.h"
#include "tessera/ops/reduce.h"
#include "tessera/pjrt/testing.h"

namespace tessera::process_testing {

Result<std::unique_ptr<Runtime>> make_runtime(Member& member, bool check_launch_order) {
  ASSIGN_OR_RETURN(const std::string path, pjrt::testing::test_plugin_path());
  return Runtime::create(
      {.plugin = path,
       .cpu_devices = member.devices(),
       .group = {.process = member.process(),
                 .processes = member.processes(),
                 .key_values = coord::shared_values(member.coordinator(), "devices/")},
       .check_launch_order = check_launch_order});
}

Result<CompiledFunction> sum_rows(Runtime& runtime, const Mesh& mesh, const std::string& name,
                                  int64_t width) {
  const std::vector<NamedShape> parameters = {{"x", {DType::kF32, {mesh.size(), width}}}};
  ASSIGN_OR_RETURN(const auto graph,
                   trace(parameters, [](Graph&, std::span<const Value> p) -> std::vector<Value> {
                     return {sum(p[0], {0})};
                   }));
  return jit(runtime, *graph,
             {.name = name,
              .mesh = mesh,
              .rules = {{"device", {mesh.axes()[0].name}}},
              .arguments = {{"x", {"device", ""}}},
              .results = {{"sum", {""}}}});
}

Result<Array> ones(Runtime& runtime, const CompiledFunction& function) {
  const ProgramValue& x = function.arguments()[0];
  return Array::from_shards(runtime, x.shape, x.sharding, [&](const Box& box) -> Result<HostArray> {
    HostArray part(Shape{DType::kF32, box.dims});
    std::ranges::fill(part.as<float>(), 1.0f);
    return part;
  });
}

Status run(const CompiledFunction& function, const Array& x) {
  ASSIGN_OR_RETURN(const std::vector<Array> sums, function({&x, 1}));
  ASSIGN_OR_RETURN(const HostArray sum, sums[0].to_host());
  const auto expected = static_cast<float>(function.mesh().size());
  for (const float element : sum.as<float>())
    if (element != expected) return data_loss("the sum is ", element, ", not ", expected);
  return absl::OkStatus();
}

}  // namespace tessera::process_testing
