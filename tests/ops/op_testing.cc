#include "tests/ops/op_testing.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "tessera/ir/op.h"
#include "tessera/ops/autodiff.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/reduce.h"
#include "tessera/pjrt/testing.h"
#include "tessera/stablehlo/module.h"

namespace tessera::op_testing {
namespace {

// The sum of all floating outputs, each element with a weight of its own, so that an error in one
// shows. Weights are away from zero.
Value weighted_sum(Graph& graph, std::span<const Value> outputs, uint64_t seed) {
  Value total = scalar(graph, DType::kF64, 0);
  for (Value output : outputs) {
    if (!is_floating(output.dtype())) continue;
    const HostArray weights = random_f64(output.dims(), 0.5, 1.5, ++seed);
    total = total + sum(convert(output, DType::kF64) * constant(graph, weights));
  }
  return total;
}

std::vector<Value> differentiable(std::span<const Value> parameters) {
  std::vector<Value> result;
  for (Value parameter : parameters) {
    if (parameter.dtype() == DType::kF64) result.push_back(parameter);
  }
  return result;
}

// fn ↦ its gradient's values: what a second-order check differentiates again.
BodyFn gradient_of(const BodyFn& fn, uint64_t seed) {
  return [fn, seed](Graph& graph, std::span<const Value> parameters) {
    const Value loss = weighted_sum(graph, fn(graph, parameters), seed);
    return gradients(loss, differentiable(parameters));
  };
}

// Outputs the loss, then the gradients: one program for both sides of the comparison.
BodyFn loss_and_gradients(const BodyFn& fn, uint64_t seed) {
  return [fn, seed](Graph& graph, std::span<const Value> parameters) {
    const Value loss = weighted_sum(graph, fn(graph, parameters), seed);
    std::vector<Value> outputs = gradients(loss, differentiable(parameters));
    outputs.insert(outputs.begin(), loss);
    return outputs;
  };
}

double loss_at(const Program& program, std::span<const HostArray> inputs) {
  Result<std::vector<HostArray>> outputs = program.run(inputs);
  if (!outputs.ok()) {
    ADD_FAILURE() << outputs.status();
    return 0;
  }
  return outputs->front().as<double>()[0];
}

// (8 (f(x+h) - f(x-h)) - (f(x+2h) - f(x-2h))) / 12h, whose error falls with h^4.
double difference(const Program& program, std::vector<HostArray> inputs,
                  std::pair<size_t, size_t> place, double step) {
  const auto at = [&](double offset) {
    double& element = inputs[place.first].as<double>()[place.second];
    const double kept = element;
    element = kept + offset;
    const double loss = loss_at(program, inputs);
    element = kept;
    return loss;
  };
  return (8 * (at(step) - at(-step)) - (at(2 * step) - at(-2 * step))) / (12 * step);
}

void compare_gradients(const GradientCase& c, const BodyFn& fn, uint64_t seed) {
  const Result<Program> program = Program::compile(loss_and_gradients(fn, seed), c.inputs, c.mesh);
  ASSERT_TRUE(program.ok()) << program.status();
  const Result<std::vector<HostArray>> outputs = program->run(c.inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  size_t checked = 0;
  for (size_t input = 0; input < c.inputs.size(); ++input) {
    if (c.inputs[input].shape().dtype != DType::kF64) continue;
    const HostArray& gradient = (*outputs)[++checked];
    ASSERT_EQ(gradient.shape(), c.inputs[input].shape());
    for (size_t i = 0; i < gradient.as<double>().size(); ++i) {
      const double expected = difference(*program, c.inputs, {input, i}, c.options.step);
      const double got = gradient.as<double>()[i];
      const double bound = c.options.tolerance * std::max(1.0, std::fabs(expected));
      // Not >, so that a NaN fails.
      if (!(std::fabs(got - expected) <= bound)) {
        ADD_FAILURE() << "input " << input << " element " << i << ": gradient " << got
                      << ", finite differences " << expected;
      }
    }
  }
  ASSERT_GT(checked, 0u) << "no input is f64, so nothing was checked";
}

}  // namespace

struct Program::State {
  explicit State(pjrt::Executable program) : executable(std::move(program)) {}
  pjrt::Executable executable;
};

Result<std::shared_ptr<Graph>> trace_like(const BodyFn& fn, std::span<const HostArray> inputs) {
  std::vector<NamedShape> parameters;
  for (const HostArray& input : inputs) parameters.push_back({"", input.shape()});
  return trace(parameters, fn);
}

Result<Program> Program::compile(const BodyFn& fn, std::span<const HostArray> inputs,
                                 const std::optional<Mesh>& mesh) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Graph> graph, trace_like(fn, inputs));
  stablehlo::ModuleOptions module;
  if (mesh) {
    module.mesh = &*mesh;
    module.argument_specs.resize(graph->parameters().size());
    module.result_specs.resize(graph->outputs().size());
  }
  ASSIGN_OR_RETURN(const std::string text, stablehlo::print_module(*graph, module));
  ASSIGN_OR_RETURN(pjrt::Client * client, pjrt::testing::test_client());
  pjrt::CompileOptions options;
  // By default XLA's CPU compiler lets max and min drop a NaN, which StableHLO does not.
  options.overrides = {{"xla_cpu_enable_fast_min_max", false}};
  options.device_ids.clear();
  for (int64_t i = 0; i < (mesh ? mesh->size() : 1); ++i)
    options.device_ids.push_back(client->devices()[i].id());
  Result<pjrt::Executable> executable = client->compile(text, options);
  if (!executable.ok()) return annotate(executable.status(), text);
  Program program;
  program.state_ = std::make_shared<State>(*std::move(executable));
  return program;
}

Result<std::vector<HostArray>> Program::run(std::span<const HostArray> inputs) const {
  ASSIGN_OR_RETURN(pjrt::Client * client, pjrt::testing::test_client());
  std::vector<std::vector<pjrt::Buffer>> buffers;
  std::vector<std::vector<const pjrt::Buffer*>> arguments;
  for (const pjrt::Device& device : state_->executable.devices()) {
    auto& row = buffers.emplace_back();
    for (const HostArray& input : inputs) {
      ASSIGN_OR_RETURN(pjrt::Buffer buffer, client->to_device(input, device));
      row.push_back(std::move(buffer));
    }
    auto& pointers = arguments.emplace_back();
    for (const pjrt::Buffer& buffer : row) pointers.push_back(&buffer);
  }
  ASSIGN_OR_RETURN(const pjrt::ExecuteResult result, state_->executable.execute(arguments));
  std::vector<HostArray> outputs;
  for (size_t i = 0; i < result.outputs[0].size(); ++i) {
    ASSIGN_OR_RETURN(HostArray output, result.outputs[0][i].to_host());
    for (size_t device = 1; device < result.outputs.size(); ++device) {
      ASSIGN_OR_RETURN(const HostArray other, result.outputs[device][i].to_host());
      if (!std::ranges::equal(output.bytes(), other.bytes())) {
        return internal_error("output ", i, " differs between device 0 and device ", device, ": ",
                              ::testing::PrintToString(to_doubles(output)), " and ",
                              ::testing::PrintToString(to_doubles(other)));
      }
    }
    outputs.push_back(std::move(output));
  }
  return outputs;
}

Result<std::vector<HostArray>> evaluate(const BodyFn& fn, std::span<const HostArray> inputs,
                                        const std::optional<Mesh>& mesh) {
  ASSIGN_OR_RETURN(const Program program, Program::compile(fn, inputs, mesh));
  return program.run(inputs);
}

HostArray random_f64(Dims dims, double low, double high, uint64_t seed) {
  HostArray array(Shape{DType::kF64, std::move(dims)});
  std::mt19937_64 bits(seed);
  for (double& value : array.as<double>()) {
    value = low + (high - low) * std::ldexp(static_cast<double>(bits() >> 11), -53);
  }
  return array;
}

HostArray as_dtype(const HostArray& array, DType dtype) {
  return from_doubles(array.shape().with_dtype(dtype), to_doubles(array));
}

void check_gradient(const GradientCase& c) {
  constexpr uint64_t kFirst = 1000;
  constexpr uint64_t kSecond = 2000;
  {
    SCOPED_TRACE(c.name + ", first order");
    compare_gradients(c, c.fn, kFirst);
  }
  if (!c.options.second_order) return;
  SCOPED_TRACE(c.name + ", second order");
  compare_gradients(c, gradient_of(c.fn, kFirst), kSecond);
}

}  // namespace tessera::op_testing
