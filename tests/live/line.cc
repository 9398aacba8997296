#include "tests/live/line.h"

#include <algorithm>

#include "tessera/ops/autodiff.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/reduce.h"
#include "tessera/runtime/process_arrays.h"

namespace tessera::process_testing {
namespace {

constexpr int64_t kSamples = 600, kPerDevice = 10;

float sample(int64_t index) { return 0.5f * static_cast<float>(index % kSamples); }

std::vector<Value> descend(Graph&, std::span<const Value> in) {
  const Value error = in[0] * in[1] - in[1] * 10.0;
  return {in[0] - gradients(mean(error * error), in.first(1))[0] * 1e-6};
}

std::vector<Value> add_up(Graph&, std::span<const Value> in) { return {sum(in[0], {0})}; }

}  // namespace

Result<Line::State> Line::start() {
  std::vector<int64_t> ids;
  for (const pjrt::Device& device : runtime_.client().addressable_devices())
    ids.push_back(device.id());
  const auto count = static_cast<int64_t>(ids.size());
  ASSIGN_OR_RETURN(const Mesh mesh, Mesh::create({{"own", count}}, std::move(ids)));
  own_ = NamedSharding::replicated(mesh);
  State state;
  ASSIGN_OR_RETURN(state.a, Array::from_host(runtime_, HostArray(Shape{DType::kF32, {}}), *own_));
  return state;
}

Result<Line::State> Line::step(State state, std::span<const int64_t> devices, bool catch_up) {
  RETURN_IF_ERROR(use(devices));
  if (catch_up) RETURN_IF_ERROR(this->catch_up(state));
  at_(state.step, "begun");
  ASSIGN_OR_RETURN(const Array x, batch(state.step));
  ASSIGN_OR_RETURN(const Array a, process_local_to_global(
                                      runtime_, state.a, NamedSharding::replicated(step_->mesh())));
  ASSIGN_OR_RETURN(const auto after, (*step_)(std::vector<Array>{a, x}));
  at_(state.step, "launched");
  ASSIGN_OR_RETURN(state.a, global_to_process_local(runtime_, after[0], *own_));
  RETURN_IF_ERROR(state.a.await());
  at_(state.step, "awaited");
  ++state.step;
  return state;
}

Status Line::use(std::span<const int64_t> devices) {
  if (step_ && std::ranges::equal(step_->mesh().device_ids(), devices)) return absl::OkStatus();
  const auto count = static_cast<int64_t>(devices.size());
  ASSIGN_OR_RETURN(const Mesh mesh,
                   Mesh::create({{"data", count}}, std::vector(devices.begin(), devices.end())));
  JitOptions options = {.name = "descend",
                        .mesh = mesh,
                        .rules = AxisRules({{"batch", {"data"}}}),
                        .arguments = {{"a", {}}, {"x", {"batch"}}},
                        .results = {{"a", {}}}};
  const std::vector<NamedShape> in = {{"a", {DType::kF32, {}}},
                                      {"x", {DType::kF32, {kPerDevice * count}}}};
  ASSIGN_OR_RETURN(const auto step, trace(in, descend));
  ASSIGN_OR_RETURN(step_, jit(runtime_, *step, options));
  const std::vector<NamedShape> rows = {{"rows", {DType::kF32, {count}}}};
  ASSIGN_OR_RETURN(const auto sum, trace(rows, add_up));
  options.name = "add_up";
  options.arguments = {{"rows", {"batch"}}};
  options.results = {{"sum", {}}};
  ASSIGN_OR_RETURN(sum_, jit(runtime_, *sum, options));
  return absl::OkStatus();
}

// One a device, by its position in the mesh.
Result<Array> Line::elements(DType dtype, const std::function<double(int64_t)>& of_position) {
  const ProgramValue& rows = sum_->arguments()[0];
  return Array::from_shards(runtime_, Shape{dtype, rows.shape.dims}, rows.sharding,
                            [&](const Box& box) -> Result<HostArray> {
                              HostArray part(Shape{dtype, box.dims});
                              const double value = of_position(box.start[0]);
                              if (dtype == DType::kS32) {
                                part.as<int32_t>()[0] = static_cast<int32_t>(value);
                              } else {
                                part.as<float>()[0] = static_cast<float>(value);
                              }
                              return part;
                            });
}

Status Line::catch_up(State& state) {
  ASSIGN_OR_RETURN(const Array own,
                   elements(DType::kS32, [&](int64_t) { return static_cast<double>(state.step); }));
  ASSIGN_OR_RETURN(const Array all,
                   device_put(runtime_, own, NamedSharding::replicated(sum_->mesh())));
  ASSIGN_OR_RETURN(const HostArray gathered, all.to_host());
  const auto steps = gathered.as<int32_t>();
  const auto [least, most] = std::ranges::minmax_element(steps);
  if (*least == *most) return absl::OkStatus();
  const int64_t source = most - steps.begin();
  ASSIGN_OR_RETURN(const HostArray a, state.a.to_host());
  ASSIGN_OR_RETURN(const Array terms, elements(DType::kF32, [&](int64_t position) {
                     return position == source ? a.as<float>()[0] : 0;
                   }));
  ASSIGN_OR_RETURN(const auto sums, (*sum_)(std::vector<Array>{terms}));
  ASSIGN_OR_RETURN(state.a, global_to_process_local(runtime_, sums[0], *own_));
  state.step = *most;
  return absl::OkStatus();
}

Result<Array> Line::batch(int64_t step) {
  const ProgramValue& x = step_->arguments()[1];
  const int64_t first = step * x.shape.dims[0];
  return Array::from_shards(runtime_, x.shape, x.sharding,
                            [&](const Box& box) -> Result<HostArray> {
                              HostArray part(Shape{DType::kF32, box.dims});
                              for (int64_t i = 0; i < box.dims[0]; ++i)
                                part.as<float>()[i] = sample(first + box.start[0] + i);
                              return part;
                            });
}

}  // namespace tessera::process_testing
