#include "tessera/stablehlo/module.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tessera/ops/constant.h"
#include "tessera/ops/control.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/registry.h"
#include "tessera/ops/sharding_ops.h"
#include "tessera/stablehlo/emitter.h"

namespace tessera::stablehlo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Parameters = std::span<const Value>;
using Values = std::vector<Value>;

std::shared_ptr<Graph> traced(const BodyFn& fn) {
  const std::vector<NamedShape> parameters = {{"state.w", {DType::kF32, {4, 2}}},
                                              {"batch.x", {DType::kF32, {4, 2}}}};
  const auto graph = trace(parameters, fn);
  CHECK_MSG(graph.ok(), graph.status().ToString());
  return *graph;
}

std::shared_ptr<Graph> update() {
  return traced([](Graph&, Parameters p) -> Values { return {p[0] - p[1] * p[1], sum(p[1])}; });
}

std::string print(const Graph& graph, const ModuleOptions& options = {}) {
  const Result<std::string> text = print_module(graph, options);
  CHECK_MSG(text.ok(), text.status().ToString());
  return *text;
}

TEST(PrintModule, WritesOneFunction) {
  EXPECT_EQ(
      print(*traced([](Graph&, Parameters p) -> Values { return {p[0] - p[1] * p[1]}; }),
            {.name = "step"}),
      R"(module @step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x2xf32>, %arg1: tensor<4x2xf32>) -> (tensor<4x2xf32>) {
    %0 = stablehlo.multiply %arg1, %arg1 : tensor<4x2xf32>
    %1 = stablehlo.subtract %arg0, %0 : tensor<4x2xf32>
    return %1 : tensor<4x2xf32>
  }
}
)");
}

TEST(PrintModule, WritesMeshShardingsAndDonations) {
  const Mesh mesh = *Mesh::create({{"data", 2}, {"fsdp", 2}}, 4);
  const AxisRules rules({{"batch", {"data"}}, {"embed", {"fsdp"}}});
  const auto graph = traced([](Graph&, Parameters p) -> Values {
    return {p[0] + constrain(p[1], {"batch", "embed"}), p[1]};
  });
  EXPECT_EQ(
      print(*graph, {.mesh = &mesh,
                     .rules = &rules,
                     .argument_specs = {{{{"fsdp"}}}, {{{"data"}, {"fsdp"}}}},
                     .result_specs = {{{{"fsdp"}}}, {}},
                     .donated_to = {0, -1}}),
      R"(module @tessera attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=2, "fsdp"=2]>
  func.func public @main(%arg0: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>, tf.aliasing_output = 0 : i32}, %arg1: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"fsdp"}]>}) -> (tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>}, tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = sdy.sharding_constraint %arg1 <@mesh, [{"data"}, {"fsdp"}]> : tensor<4x2xf32>
    %1 = stablehlo.add %arg0, %0 : tensor<4x2xf32>
    return %1, %arg1 : tensor<4x2xf32>, tensor<4x2xf32>
  }
}
)");
}

TEST(PrintModule, LeavesOutWhatNobodyReads) {
  const std::string text = print(*traced([](Graph&, Parameters p) -> Values {
    exp(p[0]);
    const ScanBody body = [](Parameters c, Parameters) -> ScanStep {
      exp(c[0]);
      return {.carry = {sin(c[0])}, .ys = {}};
    };
    tanh(p[0]);
    return scan(body, p.first(1), {}, {.length = 2}).carry;
  }));
  EXPECT_THAT(text, HasSubstr("stablehlo.sine"));
  EXPECT_THAT(text, Not(HasSubstr("exponential")));
  EXPECT_THAT(text, Not(HasSubstr("tanh")));
}

TEST(PrintModule, KeepsCallsWithSideEffectsAlsoInBodies) {
  const auto call = [](Parameters args, std::string target, bool has_side_effect) {
    custom_call(args,
                {.target = std::move(target), .results = {}, .has_side_effect = has_side_effect});
  };
  const std::string text = print(*traced([&](Graph&, Parameters p) -> Values {
    call(p, "print", true);
    call(p, "pure", false);
    const ScanBody body = [&](Parameters c, Parameters) -> ScanStep {
      call(c, "print_step", true);
      return {.carry = {sin(c[0])}, .ys = {}};
    };
    scan(body, p.first(1), {}, {.length = 2});
    return {p[0]};
  }));
  EXPECT_THAT(text, HasSubstr("    \"stablehlo.custom_call\"(%arg0, %arg1) <{call_target_name = "
                              "\"print\", has_side_effect = true"));
  EXPECT_THAT(text, HasSubstr(": (tensor<4x2xf32>, tensor<4x2xf32>) -> ()"));
  EXPECT_THAT(text, HasSubstr("print_step"));
  EXPECT_THAT(text, Not(HasSubstr("pure")));
}

TEST(PrintModule, WritesAProgramWithoutResults) {
  EXPECT_THAT(print(*traced([](Graph&, Parameters) -> Values { return {}; })),
              HasSubstr("-> () {\n    return\n  }"));
}

TEST(PrintModule, GivesEqualTextForEqualPrograms) { EXPECT_EQ(print(*update()), print(*update())); }

TEST(PrintModuleErrors, CountSpecsAndDonations) {
  const auto graph = update();
  const Mesh mesh = *Mesh::create({{"data", 2}}, 2);
  const auto error = [&](ModuleOptions options) {
    options.mesh = &mesh;
    return print_module(*graph, options).status();
  };
  EXPECT_EQ(error({.argument_specs = {{}}}).message(),
            "print_module: 1 argument specs for 2 values");
  EXPECT_EQ(error({.result_specs = {{}, {}, {}}}).message(),
            "print_module: 3 result specs for 2 values");
  EXPECT_EQ(error({.donated_to = {0}}).message(), "print_module: 1 donations for 2 values");
}

TEST(PrintModuleErrors, NameWhatCannotBeDonated) {
  const auto graph = update();
  const auto error = [&](std::vector<int> donated_to) {
    return print_module(*graph, {.donated_to = std::move(donated_to)}).status();
  };
  EXPECT_TRUE(error({-1, 0}).ok());
  EXPECT_EQ(
      error({1, -1}).message(),
      "print_module: parameter 0 state.w is f32[4,2] and cannot be donated to output 1, which "
      "is f32[]");
  EXPECT_EQ(error({2, -1}).message(), "print_module: no output 2");
  EXPECT_EQ(error({0, 0}).message(),
            "print_module: two parameters are donated to output 0; the second is 1");
}

TEST(PrintModuleErrors, NameTheValueWhoseSpecDoesNotFit) {
  const auto graph = update();
  const Mesh mesh = *Mesh::create({{"data", 8}}, 8);
  const auto error = [&](PartitionSpec argument, PartitionSpec result) {
    return print_module(*graph, {.mesh = &mesh,
                                 .argument_specs = {{}, std::move(argument)},
                                 .result_specs = {{}, std::move(result)}})
        .status();
  };
  EXPECT_THAT(error({{{"data"}}}, {}).message(), HasSubstr("parameter 1 batch.x"));
  EXPECT_THAT(error({{{"date"}}}, {}).message(), HasSubstr("date"));
  EXPECT_THAT(error({}, {{{"data"}}}).message(), HasSubstr("output 1"));
}

TEST(Emitters, ThereIsOneForEveryOp) {
  for (const OpDef* op : all_ops()) EXPECT_TRUE(emitters().contains(op)) << op->name;
}

TEST(Text, WritesTypesAndLiteralsAsMlirReadsThem) {
  EXPECT_EQ(mlir_type(Shape{DType::kBF16, {8, 256}}), "tensor<8x256xbf16>");
  EXPECT_EQ(mlir_type(Shape{DType::kBool, {}}), "tensor<i1>");
  EXPECT_EQ(mlir_type(DType::kS4), "i4");
  EXPECT_EQ(mlir_type(DType::kU64), "ui64");
  EXPECT_EQ(mlir_type(DType::kF8E4M3FN), "f8E4M3FN");
  EXPECT_EQ(mlir_literal(DType::kBool, 1), "true");
  EXPECT_EQ(mlir_literal(DType::kS32, -7), "-7");
  EXPECT_EQ(mlir_literal(DType::kU64, 0x1p63), "9223372036854775808");
  EXPECT_EQ(mlir_literal(DType::kF32, 1.5), "1.5e+00");
  EXPECT_EQ(mlir_literal(DType::kF64, 0.1), "1.0e-01");
  EXPECT_EQ(mlir_literal(DType::kF32, -INFINITY), "0xFF800000");
  EXPECT_EQ(mlir_literal(DType::kBF16, INFINITY), "0x7F80");
  EXPECT_EQ(mlir_literal(DType::kF16, NAN), "0x7E00");
  EXPECT_EQ(mlir_literal(DType::kF8E4M3FN, NAN), "0x7F");
  EXPECT_EQ(mlir_i64_array(Dims{1, 2}), "array<i64: 1, 2>");
  EXPECT_EQ(mlir_i64_array(Dims{}), "array<i64>");
}

}  // namespace
}  // namespace tessera::stablehlo
