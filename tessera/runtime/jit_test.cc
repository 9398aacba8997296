#include "tessera/runtime/jit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tessera/ops/autodiff.h"
#include "tessera/ops/elementwise_binary.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/reduce.h"
#include "tessera/runtime/runtime_fixture.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using testing::message;
using testing::test_mesh;

constexpr int64_t kBatch = 8, kEmbed = 4, kHidden = 6;

/// One step of gradient descent on mean((x up down - y)^2).
std::shared_ptr<Graph> trace_step() {
  const std::vector<NamedShape> parameters = {{"state.up", {DType::kF32, {kEmbed, kHidden}}},
                                              {"state.down", {DType::kF32, {kHidden, kEmbed}}},
                                              {"batch.x", {DType::kF32, {kBatch, kEmbed}}},
                                              {"batch.y", {DType::kF32, {kBatch, kEmbed}}}};
  auto graph = trace(parameters, [](Graph&, std::span<const Value> p) -> std::vector<Value> {
    const Value up = p[0], down = p[1], x = p[2], y = p[3];
    const Value error = matmul(matmul(x, up), down) - y;
    const Value loss = mean(error * error);
    const std::vector<Value> weights = {up, down};
    const std::vector<Value> gradient = gradients(loss, weights);
    return {up - gradient[0] * 0.05, down - gradient[1] * 0.05, loss};
  });
  CHECK_MSG(graph.ok(), graph.status().ToString());
  return *graph;
}

JitOptions step_options(Mesh mesh) {
  return {.name = "train_step",
          .mesh = std::move(mesh),
          .rules =
              AxisRules({{"batch", {"data", "fsdp"}}, {"hidden", {"tensor"}}, {"embed", {"fsdp"}}}),
          .arguments = {{"state.up", {"embed", "hidden"}},
                        {"state.down", {"hidden", "embed"}},
                        {"batch.x", {"batch", ""}},
                        {"batch.y", {"batch", ""}}},
          .results = {{"state.up", {"embed", "hidden"}},
                      {"state.down", {"hidden", "embed"}},
                      {"loss", {}}},
          .donate = {"state"}};
}

HostArray wave(Dims dims, float phase) {
  HostArray array(Shape{DType::kF32, std::move(dims)});
  for (float& value : array.as<float>()) value = 0.5f * std::sin(phase += 0.7f);
  return array;
}

class JitTest : public testing::RuntimeTest {
 protected:
  CompiledFunction compile(const JitOptions& options) {
    auto function = jit(*runtime_, *trace_step(), options);
    CHECK_MSG(function.ok(), function.status().ToString());
    return *function;
  }
  Tree<Array> arguments(const CompiledFunction& function) {
    Tree<Array> tree;
    float phase = 0;
    for (const ProgramValue& argument : function.arguments()) {
      CHECK(
          tree.add(argument.path, put(wave(argument.shape.dims, ++phase), argument.sharding)).ok());
    }
    return tree;
  }
  /// Losses of `steps` steps, all dispatched before the first is read.
  std::vector<float> train(const Mesh& mesh, int steps) {
    const CompiledFunction step = compile(step_options(mesh));
    Tree<Array> values = arguments(step);
    const Tree<Array> batch = values.subtree("batch");
    std::vector<Array> losses;
    for (int i = 0; i < steps; ++i) {
      auto results = call(step, values);
      CHECK_MSG(results.ok(), results.status().ToString());
      losses.push_back(results->at("loss"));
      values = {};
      CHECK(values.append("state", results->subtree("state")).ok());
      CHECK(values.append("batch", batch).ok());
    }
    std::vector<float> result;
    for (const Array& loss : losses) result.push_back(loss.to_host().value().as<float>()[0]);
    return result;
  }
};

// Elements enough for vector code and a rest; the NaN in a place of each.
TEST_F(JitTest, NoMaximumOrMinimumDropsANan) {
  const auto program = [](Graph&, std::span<const Value> p) -> std::vector<Value> {
    const Value x = p[0], y = p[1];
    return {maximum(x, y),   maximum(y, x), minimum(x, y), minimum(y, x),
            clamp(x, -1, 1), max(x, {0}),   min(x, {0})};
  };
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF64}) {
    const std::vector<NamedShape> parameters = {{"x", {dtype, {67}}}, {"y", {dtype, {67}}}};
    const auto graph = trace(parameters, program);
    ASSERT_TRUE(graph.ok()) << graph.status();
    const auto function = jit(*runtime_, **graph,
                              {.mesh = test_mesh({{"data", 1}}),
                               .arguments = {{"x"}, {"y"}},
                               .results = {{"0"}, {"1"}, {"2"}, {"3"}, {"4"}, {"5"}, {"6"}}});
    ASSERT_TRUE(function.ok()) << function.status();
    for (const size_t place : {0, 5, 66}) {
      std::vector<double> x(67, 0.5), y(67, 0.25);
      x[place] = std::numeric_limits<double>::quiet_NaN();
      const NamedSharding layout = NamedSharding::replicated(function->mesh());
      const std::vector<Array> arguments = {put(from_doubles({dtype, {67}}, x), layout),
                                            put(from_doubles({dtype, {67}}, y), layout)};
      const auto results = (*function)(arguments);
      ASSERT_TRUE(results.ok()) << results.status();
      for (size_t i = 0; i < results->size(); ++i) {
        const std::vector<double> values = to_doubles((*results)[i].to_host().value());
        EXPECT_TRUE(std::isnan(values[values.size() == 1 ? 0 : place]))
            << "result " << i << " in " << dtype_name(dtype) << ", NaN at " << place;
      }
    }
  }
}

TEST_F(JitTest, TrainingGivesTheSameLossesOnEveryMesh) {
  const std::vector<float> expected =
      train(test_mesh({{"data", 1}, {"fsdp", 1}, {"tensor", 1}}), 20);
  EXPECT_LT(expected.back(), 0.9f * expected.front());
  for (const auto& [data, fsdp, tensor] : std::vector<std::array<int, 3>>{
           {2, 1, 1}, {1, 2, 1}, {2, 2, 1}, {1, 2, 2}, {1, 4, 2}, {2, 2, 2}}) {
    const Mesh mesh = test_mesh({{"data", data}, {"fsdp", fsdp}, {"tensor", tensor}});
    const std::vector<float> losses = train(mesh, 20);
    for (size_t i = 0; i < losses.size(); ++i) {
      EXPECT_NEAR(losses[i], expected[i], 1e-5 * expected[i]) << to_string(mesh) << " step " << i;
    }
  }
}

TEST_F(JitTest, LaysOutByTheRulesAndDonatesABranch) {
  const CompiledFunction step =
      compile(step_options(test_mesh({{"data", 2}, {"fsdp", 2}, {"tensor", 2}})));
  std::vector<std::string> described;
  for (const ProgramValue& argument : step.arguments()) {
    described.push_back(str_cat(argument.path, " ", describe(argument.shape, argument.sharding),
                                argument.donated ? " donated" : ""));
  }
  EXPECT_THAT(described, ::testing::ElementsAre("state.up f32[4,6] sharded [fsdp,tensor] donated",
                                                "state.down f32[6,4] sharded [tensor,fsdp] donated",
                                                "batch.x f32[8,4] sharded [(data,fsdp),_]",
                                                "batch.y f32[8,4] sharded [(data,fsdp),_]"));
  Tree<Array> values = arguments(step);
  ASSERT_TRUE(call(step, values).ok());
  EXPECT_THAT(
      message(call(step, values).status()),
      HasSubstr("argument 'state.up': array f32[4,6] was donated as argument 'state.up' to call "
                "1 of 'train_step'"));
}

TEST_F(JitTest, MissingAndUnknownArgumentsAreNamed) {
  const CompiledFunction step =
      compile(step_options(test_mesh({{"data", 1}, {"fsdp", 1}, {"tensor", 1}})));
  Tree<Array> values = arguments(step);
  EXPECT_THAT(message(call(step, {}).status()), HasSubstr("argument 'state.up' is missing"));
  ASSERT_TRUE(values.add("batch.z", values.at("batch.y")).ok());
  EXPECT_THAT(message(call(step, values).status()),
              HasSubstr("it has no argument 'batch.z'; did you mean 'batch.x'?"));
}

TEST(LowerTest, WrongNamesAndLayoutsAreNamed) {
  const auto error = [](auto change, std::vector<MeshAxis> axes) {
    JitOptions options = step_options(test_mesh(std::move(axes)));
    change(options);
    return message(lower(*trace_step(), options).status());
  };
  const std::vector<MeshAxis> flat = {{"data", 1}, {"fsdp", 2}, {"tensor", 1}};
  EXPECT_THAT(
      error([](JitOptions& o) { o.arguments[0].dim_names[0] = "embd"; }, flat),
      HasSubstr("program 'train_step': arguments: 'state.up': no axis rule for dimension name "
                "'embd'; did you mean 'embed'?"));
  EXPECT_THAT(error([](JitOptions& o) { o.arguments[0].dim_names.pop_back(); }, flat),
              HasSubstr("'state.up': f32[4,6] has 2 dimensions, named are 1"));
  EXPECT_THAT(error([](JitOptions& o) { o.results.pop_back(); }, flat),
              HasSubstr("results: the graph has 3, named are 2"));
  EXPECT_THAT(error([](JitOptions& o) { o.donate = {"stat"}; }, flat),
              HasSubstr("donated 'stat' is no argument"));
  EXPECT_THAT(error([](JitOptions& o) { o.donate = {"batch.x"}; }, flat),
              HasSubstr("'batch.x' cannot be donated: there is no result of that path"));
  EXPECT_THAT(
      error(
          [](JitOptions& o) {
            o.results[0].dim_names = {"", ""};
          },
          flat),
      HasSubstr("'state.up' cannot be donated: it is f32[4,6] sharded [fsdp,_], the result is "
                "f32[4,6] sharded [_,_]"));
  EXPECT_THAT(
      error([](JitOptions&) {}, {{"data", 1}, {"fsdp", 1}, {"tensor", 4}}),
      HasSubstr("'state.up': dimension 1 of f32[4,6] has size 6, which is not divisible by 4"));
}

}  // namespace
}  // namespace tessera
