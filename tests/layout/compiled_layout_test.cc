// What the compiler makes of the layouts that the rules ask for, read from its optimized programs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "tessera/pjrt/hlo_module.h"
#include "tessera/pjrt/testing.h"
#include "tessera/runtime/testing.h"
#include "tessera/train/compile.h"
#include "tessera/train/session.h"

namespace tessera {
namespace {

using Degrees = std::vector<std::pair<std::string, int64_t>>;

const std::vector<Degrees> kMeshes = {
    {{"fsdp", 8}},
    {{"data", 8}},
    {{"tensor", 8}},
    {{"fsdp_transpose", 8}},
    {{"data", 2}, {"fsdp", 4}},
    {{"data", 4}, {"tensor", 2}},
    {{"fsdp", 4}, {"tensor", 2}},
    {{"fsdp", 4}, {"context", 2}},
    {{"fsdp", 4}, {"tensor_sequence", 2}},
    {{"fsdp", 4}, {"expert", 2}},
    {{"data", 2}, {"fsdp", 2}, {"tensor", 2}},
    {{"fsdp", 2}, {"fsdp_transpose", 2}, {"tensor", 2}},
};

// Deep and thin: all layers' weights of one kind are far larger than one layer's, than what stands
// outside of the layers, and than any activation.
RunConfig deep_config(const std::string& family) {
  RunConfig config;
  config.model.family = family;
  config.model.llama = {
      .vocab_size = 512, .layers = 32, .embed = 64, .mlp = 256, .heads = 8, .kv_heads = 8};
  config.training.batch_size = 8;
  config.training.sequence_length = 8;
  config.training.dtype = ComputeType::kF32;
  return config;
}

struct Compiled {
  std::vector<ProgramValue> arguments;
  pjrt::HloModule module;
};

Result<Compiled> compile(const RunConfig& base, const Degrees& degrees, bool zero1 = false) {
  RunConfig config = base;
  config.mesh.ici_degree("fsdp") = 1;
  config.mesh.shard_optimizer_over_data = zero1;
  for (const auto& [axis, degree] : degrees) config.mesh.ici_degree(axis) = degree;
  ASSIGN_OR_RETURN(const Slices slices, config.mesh.slices(8));
  ASSIGN_OR_RETURN(const MeshConfig mesh, config.mesh.resolved(slices));
  ASSIGN_OR_RETURN(const Layout layout, make_layout(mesh, slices));
  ASSIGN_OR_RETURN(const auto model, make_model(config.model));
  ASSIGN_OR_RETURN(const auto runtime, testing::test_runtime());
  ASSIGN_OR_RETURN(const TracedProgram traced, trace_train_step(*model, config, &layout));
  ASSIGN_OR_RETURN(Program lowered, lower_program(traced, "train_step", layout));
  // The machine code is not what is looked at.
  lowered.overrides = {{"xla_backend_optimization_level", int64_t{0}},
                       {"xla_llvm_disable_expensive_passes", true}};
  ASSIGN_OR_RETURN(const CompiledFunction step,
                   CompiledFunction::compile(*runtime, std::move(lowered)));
  ASSIGN_OR_RETURN(const auto program, step.executable().optimized_program());
  ASSIGN_OR_RETURN(pjrt::HloModule module, pjrt::HloModule::parse(program.format, program.code));
  return Compiled{{step.arguments().begin(), step.arguments().end()}, std::move(module)};
}

std::string to_string(const Degrees& degrees) {
  std::string text;
  for (const auto& [axis, degree] : degrees)
    str_append(&text, text.empty() ? "" : " ", axis, "=", degree);
  return text;
}

bool is_stacked(const ProgramValue& value) { return value.path.starts_with("params.layers."); }

// Bytes of the largest weight that one step of the loop over layers needs, or that stands outside
// of it.
double largest_layer(const Compiled& compiled) {
  double largest = 0;
  for (const ProgramValue& value : compiled.arguments) {
    if (!value.path.starts_with("params.")) continue;
    const auto bytes = static_cast<double>(value.shape.host_bytes());
    largest = std::max(
        largest, is_stacked(value) ? bytes / static_cast<double>(value.shape.dims[0]) : bytes);
  }
  return largest;
}

double largest_part(const pjrt::HloShape& shape) {
  double largest = shape.parts.empty() ? shape.bytes() : 0;
  for (const pjrt::HloShape& part : shape.parts) largest = std::max(largest, largest_part(part));
  return largest;
}

void expect_arguments_as_laid_out(const Compiled& compiled) {
  std::vector<std::vector<int64_t>> dims(compiled.arguments.size());
  for (const auto& instruction :
       compiled.module.computations.at(compiled.module.entry).instructions)
    if (instruction.opcode == "parameter") dims.at(instruction.parameter) = instruction.shape.dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    const ProgramValue& argument = compiled.arguments[i];
    EXPECT_EQ(dims[i], argument.sharding.shard_dims(argument.shape.dims)) << argument.path;
  }
}

void expect_weights_stream_by_layer(const Compiled& compiled) {
  const double most = largest_layer(compiled);
  compiled.module.walk([&](const pjrt::HloComputation& computation,
                           const pjrt::HloInstruction& instruction, double) {
    if (!instruction.opcode.starts_with("all-gather")) return;
    EXPECT_LE(largest_part(instruction.shape), most)
        << instruction.name << " in " << computation.name;
  });
}

class CompiledLayout : public ::testing::TestWithParam<std::string> {};

TEST_P(CompiledLayout, IsThatOfTheTableAndStreamsWeightsLayerByLayer) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  for (const Degrees& degrees : kMeshes) {
    SCOPED_TRACE(to_string(degrees));
    const auto compiled = compile(deep_config(GetParam()), degrees);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    expect_arguments_as_laid_out(*compiled);
    expect_weights_stream_by_layer(*compiled);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, CompiledLayout, ::testing::Values("llama", "mixtral"),
                         [](const auto& info) { return info.param; });

TEST(CompiledLayout, ZeroOneHoldsTheOptimizersStateInPartsOverData) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto compiled = compile(deep_config("llama"), {{"data", 8}}, /*zero1=*/true);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  expect_arguments_as_laid_out(*compiled);
  for (const ProgramValue& argument : compiled->arguments) {
    const bool moments = argument.path.starts_with("optimizer.");
    if (!moments && !argument.path.starts_with("params.")) continue;
    EXPECT_EQ(argument.sharding.is_fully_replicated(), !moments) << argument.path;
  }
}

}  // namespace
}  // namespace tessera
