// A whole trainer: a model in named dimensions, its gradient, one compiled step that is given its
// state, over four devices. It fits y = tanh(x w1) w2 to a fixed random network and exits with 0
// when the loss has fallen to a tenth.

#include <cstdio>

#include "tessera/ops/autodiff.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/random.h"
#include "tessera/ops/reduce.h"
#include "tessera/runtime/jit.h"

namespace tessera {

Value network(Value x_BD, Value w1_DF, Value w2_FD) {
  return matmul(tanh(matmul(x_BD, w1_DF)), w2_FD);
}

// (w1, w2, step) → (w1, w2, step, loss): fresh inputs each step, made on the devices from the
// step's number.
std::vector<Value> train_step(Graph& graph, std::span<const Value> state) {
  const Value key = random_key(graph, 0);
  const Value x_BD = normal(fold_in(key, state[2]), {DType::kF32, {256, 16}});
  const Value teacher1 = normal(fold_in(key, 1u << 30), {DType::kF32, {16, 32}}) * 0.3;
  const Value teacher2 = normal(fold_in(key, 1u << 31), {DType::kF32, {32, 16}}) * 0.3;
  const Value error_BD = network(x_BD, state[0], state[1]) - network(x_BD, teacher1, teacher2);
  const Value loss = mean(error_BD * error_BD);
  const std::vector<Value> grads = gradients(loss, state.first(2));
  return {state[0] - grads[0] * 2.0, state[1] - grads[1] * 2.0, state[2] + 1.0, loss};
}

Status run(const std::string& plugin) {
  ASSIGN_OR_RETURN(const auto runtime,
                   Runtime::create({.plugin = plugin, .cpu_devices = 4, .client_options = {}}));
  ASSIGN_OR_RETURN(const Mesh mesh, runtime->mesh({{"data", 2}, {"tensor", 2}}));
  const std::vector<NamedShape> shapes = {{"w1", {DType::kF32, {16, 32}}},
                                          {"w2", {DType::kF32, {32, 16}}},
                                          {"step", {DType::kS32, {}}}};
  ASSIGN_OR_RETURN(const auto graph, trace(shapes, train_step));
  const std::vector<LogicalValue> state_values = {
      {"w1", {"width", "hidden"}}, {"w2", {"hidden", "width"}}, {"step", {}}};
  std::vector<LogicalValue> results = state_values;
  results.push_back({"loss", {}});
  ASSIGN_OR_RETURN(const CompiledFunction step,
                   jit(*runtime, *graph,
                       {.name = "train_step",
                        .mesh = mesh,
                        .rules = AxisRules({{"hidden", {"tensor"}}, {"width", {}}}),
                        .arguments = state_values,
                        .results = results,
                        .donate = {"w1", "w2", "step"},
                        .overrides = {}}));
  Tree<Array> state;
  for (const ProgramValue& argument : step.arguments()) {
    HostArray start(argument.shape);
    for (int64_t i = 0; argument.shape.dtype == DType::kF32 && i < argument.shape.elements(); ++i) {
      start.as<float>()[i] = 0.1f * static_cast<float>((i * 37 % 17) - 8) / 8;
    }
    ASSIGN_OR_RETURN(Array array, Array::from_host(*runtime, start, argument.sharding));
    RETURN_IF_ERROR(state.add(argument.path, std::move(array)));
  }
  float first = 0, last = 0;
  for (int i = 0; i < 400; ++i) {
    ASSIGN_OR_RETURN(const Tree<Array> next,
                     call(step, state));  // the old state is gone now, its memory reused
    ASSIGN_OR_RETURN(const HostArray loss, next.at("loss").to_host());
    last = loss.as<float>()[0];
    if (i == 0) first = last;
    if (i % 80 == 0) std::printf("step %d loss %.5f\n", i, last);
    state = Tree<Array>();
    for (const auto& [path, array] : next) {
      if (path != "loss") RETURN_IF_ERROR(state.add(path, array));
    }
  }
  std::printf("loss %.5f → %.5f on %s\n", first, last, to_string(mesh).c_str());
  return last < first / 10 ? absl::OkStatus() : internal_error("the loss did not fall to a tenth");
}

}  // namespace tessera

int main(int argc, char** argv) {
  const tessera::Status status = tessera::run(argc > 1 ? argv[1] : "cpu");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
