// Programs: compiling, running on one and several devices, donation, and what executables say about
// themselves.
#include <atomic>
#include <map>
#include <thread>

#include "plugins/cpu/plugin_testing.h"

namespace tessera::pjrt_cpu {
namespace {

using Floats = std::vector<float>;
using Lists = std::vector<std::vector<PJRT_Buffer*>>;

constexpr char kAdd[] =
    R"(module @sum { func.func @main(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.add %a, %b : tensor<3xf32> return %0 : tensor<3xf32> } })";
constexpr char kDonating[] = R"(module @twice {
  func.func @main(%a: tensor<3xf32> {tf.aliasing_output = 0 : i32}) -> tensor<3xf32> {
    %0 = stablehlo.add %a, %a : tensor<3xf32> return %0 : tensor<3xf32> } })";
constexpr char kTwoOutputs[] =
    R"(module @two { func.func @main(%a: tensor<2x3xf32>) -> (tensor<3x2xf32>, tensor<i32>) {
  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = stablehlo.constant dense<7> : tensor<i32> return %0, %1 : tensor<3x2xf32>, tensor<i32> } })";
// The sum over a dimension that is split over the devices: XLA must put a collective in.
constexpr char kShardy[] =
    R"(module @shardy attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @main(%a: tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
      -> (tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
    %c = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [0]
      : (tensor<8x2xf32>, tensor<f32>) -> tensor<2xf32>
    return %0 : tensor<2xf32> } })";
constexpr char kGspmd[] =
    R"(module @gspmd attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @main(%a: tensor<8x2xf32> {mhlo.sharding = "{devices=[4,1]0,1,2,3}"})
      -> (tensor<2xf32> {mhlo.sharding = "{replicated}"}) {
    %c = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [0]
      : (tensor<8x2xf32>, tensor<f32>) -> tensor<2xf32>
    return %0 : tensor<2xf32> } })";
constexpr char kReplicas[] =
    R"(module @replicas { func.func @main(%a: tensor<1xf32>) -> tensor<1xf32> {
  %0 = "stablehlo.all_reduce"(%a) ({ ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32> stablehlo.return %s : tensor<f32> })
    {replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : (tensor<1xf32>) -> tensor<1xf32>
  return %0 : tensor<1xf32> } })";
class PluginExecuteTest : public ClientTest {
 protected:
  void run_sharded_sum(const char* program, bool shardy) {
    start(4);
    PJRT_LoadedExecutable* sum = compile(program, compile_options(1, 4, shardy));
    ASSERT_NE(sum, nullptr);
    Lists arguments, results;
    for (int d = 0; d < 4; ++d) {
      const Floats shard = {1.f * d, 10.f * d, 1.f, 10.f};
      arguments.push_back({put(PJRT_Buffer_Type_F32, {2, 2}, shard.data(), d)});
    }
    const Outcome result = execute(sum, arguments, 1, &results);
    ASSERT_TRUE(result.ok()) << result.message;
    for (int d = 0; d < 4; ++d) {
      EXPECT_EQ(get_f32(results[d][0]), (Floats{10, 100}));
      destroy(results[d][0]);
      destroy(arguments[d][0]);
    }
    destroy(sum);
  }

  /// The executable's bytes; destroys it.
  std::string store(PJRT_LoadedExecutable* loaded) {
    PJRT_Executable* executable = executable_of(loaded);
    auto serialize = ARGS(PJRT_Executable_Serialize);
    serialize.executable = executable;
    const Outcome result = outcome(api().PJRT_Executable_Serialize(&serialize));
    EXPECT_TRUE(result.ok()) << result.message;
    if (!result.ok()) return "";
    const std::string bytes(serialize.serialized_bytes, serialize.serialized_bytes_size);
    serialize.serialized_executable_deleter(serialize.serialized_executable);
    destroy_executable(executable);
    destroy(loaded);
    return bytes;
  }
  PJRT_Executable_DeserializeAndLoad_Args to_load(const std::string& bytes) {
    auto load = ARGS(PJRT_Executable_DeserializeAndLoad);
    load.client = client_;
    load.serialized_executable = bytes.data();
    load.serialized_executable_size = bytes.size();
    return load;
  }
};

TEST_F(PluginExecuteTest, AddsTwoArrays) {
  start(1);
  PJRT_LoadedExecutable* add = compile(kAdd);
  PJRT_Buffer *a = put_f32({1, 2, 3}), *b = put_f32({10, 20, 30});
  Lists results;
  const Outcome result = execute(add, {{a, b}}, 1, &results);
  ASSERT_TRUE(result.ok()) << result.message;
  EXPECT_EQ(get_f32(results[0][0]), (Floats{11, 22, 33}));
  for (PJRT_Buffer* buffer : {a, b, results[0][0]}) destroy(buffer);
  destroy(add);
}

TEST_F(PluginExecuteTest, ShardyPartitionsAndPutsTheCollectiveIn) {
  run_sharded_sum(kShardy, true);
}

TEST_F(PluginExecuteTest, GspmdPartitionsAndPutsTheCollectiveIn) { run_sharded_sum(kGspmd, false); }

TEST_F(PluginExecuteTest, ReplicasReduceOverAllDevices) {
  start(4);
  PJRT_LoadedExecutable* sum = compile(kReplicas, compile_options(4, 1));
  ASSERT_NE(sum, nullptr);
  Lists arguments, results;
  for (int d = 0; d < 4; ++d) arguments.push_back({put_f32({1.f + d}, d)});
  for (int round = 0; round < 20; ++round) {  // collectives queue up without starving each other
    const Outcome result = execute(sum, arguments, 1, &results);
    ASSERT_TRUE(result.ok()) << result.message;
    for (int d = 0; d < 4; ++d) {
      EXPECT_EQ(get_f32(results[d][0]), Floats{10});
      destroy(results[d][0]);
    }
  }
  for (auto& list : arguments) destroy(list[0]);
  destroy(sum);
}

TEST_F(PluginExecuteTest, ADonatedInputIsGoneAndUsingItAgainIsAnError) {
  start(1);
  PJRT_LoadedExecutable* twice = compile(kDonating);
  PJRT_Buffer* a = put_f32({1, 2, 3});
  Lists results, again;
  ASSERT_TRUE(execute(twice, {{a}}, 1, &results).ok());
  EXPECT_EQ(get_f32(results[0][0]), (Floats{2, 4, 6}));
  EXPECT_TRUE(is_deleted(a));
  const Outcome reuse = execute(twice, {{a}}, 1, &again);
  EXPECT_EQ(reuse.code, PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_NE(reuse.message.find("deleted or donated"), std::string::npos) << reuse.message;
  destroy(a);
  destroy(results[0][0]);
  destroy(twice);
}

TEST_F(PluginExecuteTest, ANonDonatableInputSurvives) {
  start(1);
  PJRT_LoadedExecutable* twice = compile(kDonating);
  PJRT_Buffer* a = put_f32({1, 2, 3});
  Lists results;
  ASSERT_TRUE(execute(twice, {{a}}, 1, &results, {0}).ok());
  EXPECT_FALSE(is_deleted(a));
  EXPECT_EQ(get_f32(a), (Floats{1, 2, 3}));
  EXPECT_EQ(get_f32(results[0][0]), (Floats{2, 4, 6}));
  destroy(results[0][0]);
  const Outcome wrong = execute(twice, {{a}}, 1, &results, {1});
  EXPECT_NE(wrong.message.find("names input 1 of 1"), std::string::npos) << wrong.message;
  destroy(a);
  destroy(twice);
}

TEST_F(PluginExecuteTest, WrongCallsAreErrors) {
  start(2);
  PJRT_LoadedExecutable* add = compile(kAdd);
  PJRT_Buffer *a = put_f32({1, 2, 3}), *longer = put_f32({1, 2, 3, 4}),
              *elsewhere = put_f32({1, 2, 3}, 1);
  Lists results;
  EXPECT_EQ(execute(add, {{a}}, 1, &results).code, PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(execute(add, {{a, longer}}, 1, &results).code, PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(execute(add, {{a, elsewhere}}, 1, &results).code, PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_NE(
      execute(add, {{a, nullptr}}, 1, &results).message.find("argument 1 for device 0 is null"),
      std::string::npos);
  EXPECT_NE(execute(add, {{a, a}, {a, a}}, 1, &results).message.find("num_devices is 2"),
            std::string::npos);
  auto args = ARGS(PJRT_LoadedExecutable_Delete);
  args.executable = add;
  CALL(PJRT_LoadedExecutable_Delete, args);
  EXPECT_NE(execute(add, {{a, a}}, 1, &results).message.find("has been deleted"),
            std::string::npos);
  for (PJRT_Buffer* buffer : {a, longer, elsewhere}) destroy(buffer);
  destroy(add);
}

TEST_F(PluginExecuteTest, AnExecutionBeyondTheMemoryLimitFailsAndTheClientLivesOn) {
  start(1, 16 << 20);
  PJRT_LoadedExecutable* large =
      compile(R"(module @large { func.func @main(%a: tensor<f32>) -> tensor<4096x4096xf32> {
    %0 = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<4096x4096xf32>
    return %0 : tensor<4096x4096xf32> } })");
  PJRT_LoadedExecutable* add = compile(kAdd);
  const float one = 1;
  PJRT_Buffer *scalar = put(PJRT_Buffer_Type_F32, {}, &one), *a = put_f32({1, 2, 3});
  Lists results;
  for (int round = 0; round < 2; ++round) {
    const Outcome result = execute(large, {{scalar}}, 1, &results);
    EXPECT_EQ(result.code, PJRT_Error_Code_RESOURCE_EXHAUSTED) << result.message;
    EXPECT_NE(result.message.find("memory_limit_bytes"), std::string::npos) << result.message;
    if (results[0][0] != nullptr) destroy(results[0][0]);
  }
  ASSERT_TRUE(execute(add, {{a, a}}, 1, &results).ok());
  EXPECT_EQ(get_f32(results[0][0]), (Floats{2, 4, 6}));
  for (PJRT_Buffer* buffer : {scalar, a, results[0][0]}) destroy(buffer);
  destroy(large);
  destroy(add);
}

TEST_F(PluginExecuteTest, BadProgramsAndOptionsAreErrors) {
  start(2);
  PJRT_LoadedExecutable* none = nullptr;
  EXPECT_EQ(compile("module @m { nonsense }", compile_options(), &none).code,
            PJRT_Error_Code_INVALID_ARGUMENT);
  for (const std::string& junk : {std::string("ML\xefR\x06junk"), std::string("ML\xefR"),
                                  std::string(64, '\xff'), std::string()}) {
    EXPECT_EQ(compile(junk, compile_options(), &none).code, PJRT_Error_Code_INVALID_ARGUMENT);
  }
  EXPECT_NE(compile(kAdd, "not a proto", &none).message.find("CompileOptionsProto"),
            std::string::npos);
  EXPECT_NE(compile(kAdd, compile_options(), &none, "ptx").message.find("'ptx'; known: mlir"),
            std::string::npos);
  EXPECT_NE(compile("junk", compile_options(), &none, "hlo").message.find("does not parse"),
            std::string::npos);
  const Outcome devices = compile(kShardy, compile_options(1, 4, true), &none);
  EXPECT_EQ(devices.code, PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_NE(devices.message.find("the client has 2"), std::string::npos) << devices.message;
}

// @main of one f32[3]: twice the argument, moved to the host's memory and back in between; what it
// returns is `result`.
std::string with_transfers(const std::string& result) {
  const auto transfer = [](const std::string& to, const std::string& from, const char* kind) {
    return to + " = stablehlo.custom_call @annotate_device_placement(" + from +
           ") {backend_config = \"\", has_side_effect = true, mhlo.frontend_attributes = "
           "{_xla_buffer_placement = \"" +
           kind + "\"}} : (tensor<3xf32>) -> tensor<3xf32>\n";
  };
  return "module @m { func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {\n" +
         transfer("%host", "%x", "pinned_host") + transfer("%back", "%host", "device") +
         "%twice = stablehlo.add %back, %back : tensor<3xf32>\n"
         "return " +
         result + " : tensor<3xf32>\n} }";
}

TEST_F(PluginExecuteTest, TransfersBetweenMemoriesInsideAProgramLeaveTheValueWhereItIs) {
  start(1);
  PJRT_Buffer* x = put_f32({1, 2, 3});
  PJRT_LoadedExecutable* twice = compile(with_transfers("%twice"));
  std::vector<std::vector<PJRT_Buffer*>> results;
  EXPECT_TRUE(execute(twice, {{x}}, 1, &results).ok());
  EXPECT_EQ(get_f32(results[0][0]), (std::vector<float>{2, 4, 6}));
  destroy(results[0][0]);
  destroy(x);
  destroy(twice);
  PJRT_LoadedExecutable* none = nullptr;
  EXPECT_FALSE(compile(with_transfers("%host"), compile_options(), &none).ok());
}

TEST_F(PluginExecuteTest, AStoredExecutableRunsInAnotherClient) {
  start(1);
  const std::string bytes = store(compile(kAdd));
  TearDown();
  start(1);
  auto load = to_load(bytes);
  ::testing::internal::CaptureStderr();
  CALL(PJRT_Executable_DeserializeAndLoad, load);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "");  // no warning that the user can do nothing about
  PJRT_Buffer *a = put_f32({1, 2, 3}), *b = put_f32({1, 1, 1});
  Lists results;
  ASSERT_TRUE(execute(load.loaded_executable, {{a, b}}, 1, &results).ok());
  EXPECT_EQ(get_f32(results[0][0]), (Floats{2, 3, 4}));
  for (PJRT_Buffer* buffer : {a, b, results[0][0]}) destroy(buffer);
  destroy(load.loaded_executable);
  auto bad = load;
  bad.serialized_executable_size = bytes.size() / 2;
  EXPECT_FALSE(outcome(api().PJRT_Executable_DeserializeAndLoad(&bad)).ok());
}

TEST_F(PluginExecuteTest, AStoredExecutableForMoreDevicesThanThereAreIsRefused) {
  start(4);
  const std::string bytes = store(compile(kShardy, compile_options(1, 4, true)));
  TearDown();
  start(1);
  auto load = to_load(bytes);
  const Outcome result = outcome(api().PJRT_Executable_DeserializeAndLoad(&load));
  EXPECT_FALSE(result.ok());
  for (const std::string& garbage :
       {std::string("garbage"), std::string(1000, '\xff'), std::string("\0", 1)}) {
    load = to_load(garbage);
    EXPECT_FALSE(outcome(api().PJRT_Executable_DeserializeAndLoad(&load)).ok());
  }
}

TEST_F(PluginExecuteTest, ThreadsShareAClientAndAnExecutable) {
  start(2);
  PJRT_LoadedExecutable* add = compile(kAdd);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const float x = static_cast<float>(100 * t + i);
        PJRT_Buffer *a = put_f32({x, x, x}), *b = put_f32({1, 2, 3});
        Lists results;
        if (!execute(add, {{a, b}}, 1, &results).ok()) {
          ++wrong;
          continue;
        }
        wrong += get_f32(results[0][0]) != Floats{x + 1, x + 2, x + 3};
        for (PJRT_Buffer* buffer : {a, b, results[0][0]}) destroy(buffer);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  destroy(add);
}

TEST_F(PluginExecuteTest, AnExecutableDescribesItsOutputsAndCost) {
  start(1);
  PJRT_LoadedExecutable* loaded = compile(kTwoOutputs);
  PJRT_Executable* executable = executable_of(loaded);
  auto name = ARGS(PJRT_Executable_Name);
  name.executable = executable;
  CALL(PJRT_Executable_Name, name);
  EXPECT_EQ(std::string(name.executable_name, name.executable_name_size), "two");
  auto outputs = ARGS(PJRT_Executable_NumOutputs);
  outputs.executable = executable;
  CALL(PJRT_Executable_NumOutputs, outputs);
  EXPECT_EQ(outputs.num_outputs, 2u);
  auto types = ARGS(PJRT_Executable_OutputElementTypes);
  types.executable = executable;
  CALL(PJRT_Executable_OutputElementTypes, types);
  EXPECT_EQ(types.output_types[0], PJRT_Buffer_Type_F32);
  EXPECT_EQ(types.output_types[1], PJRT_Buffer_Type_S32);
  auto dims = ARGS(PJRT_Executable_OutputDimensions);
  dims.executable = executable;
  CALL(PJRT_Executable_OutputDimensions, dims);
  EXPECT_EQ(dims.dim_sizes[0], 2u);
  EXPECT_EQ(dims.dim_sizes[1], 0u);
  EXPECT_EQ(dims.dims[0], 3);
  auto kinds = ARGS(PJRT_Executable_OutputMemoryKinds);
  kinds.executable = executable;
  CALL(PJRT_Executable_OutputMemoryKinds, kinds);
  ASSERT_EQ(kinds.num_outputs, 2u);
  EXPECT_EQ(std::string(kinds.memory_kinds[1], kinds.memory_kind_sizes[1]), "device");
  auto memory = ARGS(PJRT_Executable_GetCompiledMemoryStats);
  memory.executable = executable;
  CALL(PJRT_Executable_GetCompiledMemoryStats, memory);
  EXPECT_EQ(memory.argument_size_in_bytes, 24);
  EXPECT_GE(memory.output_size_in_bytes, 28);
  auto cost = ARGS(PJRT_Executable_GetCostAnalysis);
  cost.executable = executable;
  CALL(PJRT_Executable_GetCostAnalysis, cost);
  std::map<std::string, PJRT_NamedValue> costs;
  for (size_t i = 0; i < cost.num_properties; ++i) {
    costs.emplace(std::string(cost.properties[i].name, cost.properties[i].name_size),
                  cost.properties[i]);
  }
  EXPECT_TRUE(costs.contains("bytes accessed"));
  destroy_executable(executable);
  destroy(loaded);
}

TEST_F(PluginExecuteTest, TheOptimizedProgramCompilesAgainAndFingerprintsTellProgramsApart) {
  start(1);
  PJRT_LoadedExecutable *add = compile(kAdd), *same = compile(kAdd), *other = compile(kDonating);
  const auto fingerprint = [&](PJRT_LoadedExecutable* loaded) {
    PJRT_Executable* executable = executable_of(loaded);
    auto args = ARGS(PJRT_Executable_Fingerprint);
    args.executable = executable;
    EXPECT_TRUE(outcome(api().PJRT_Executable_Fingerprint(&args)).ok());
    const std::string result(args.executable_fingerprint, args.executable_fingerprint_size);
    destroy_executable(executable);
    return result;
  };
  EXPECT_FALSE(fingerprint(add).empty());
  EXPECT_EQ(fingerprint(add), fingerprint(same));
  EXPECT_NE(fingerprint(add), fingerprint(other));

  PJRT_Executable* executable = executable_of(add);
  PJRT_Program program{};
  program.struct_size = PJRT_Program_STRUCT_SIZE;
  auto args = ARGS(PJRT_Executable_OptimizedProgram);
  args.executable = executable;
  args.program = &program;
  CALL(PJRT_Executable_OptimizedProgram, args);
  std::string code(program.code_size, '\0');
  program.code = code.data();
  program.code_size = code.size() - 1;
  CALL_FAILS(PJRT_Executable_OptimizedProgram, args, PJRT_Error_Code_INVALID_ARGUMENT,
             "the program needs");
  program.code_size = code.size();
  CALL(PJRT_Executable_OptimizedProgram, args);
  PJRT_LoadedExecutable* again = nullptr;
  const Outcome result = compile(code, compile_options(), &again,
                                 std::string_view(program.format, program.format_size));
  EXPECT_TRUE(result.ok()) << result.message;
  if (again != nullptr) destroy(again);
  destroy_executable(executable);
  for (PJRT_LoadedExecutable* loaded : {add, same, other}) destroy(loaded);
}

TEST_F(PluginExecuteTest, AProgramCompiledAheadOfTimeIsLoadedAndRun) {
  start(1);
  auto topology = ARGS(PJRT_TopologyDescription_Create);
  CALL(PJRT_TopologyDescription_Create, topology);
  std::string code = kAdd;
  const std::string options = compile_options();
  PJRT_Program program{};
  program.struct_size = PJRT_Program_STRUCT_SIZE;
  program.code = code.data();
  program.code_size = code.size();
  program.format = "mlir";
  program.format_size = 4;
  auto args = ARGS(PJRT_Compile);
  args.topology = topology.topology;
  args.program = &program;
  args.compile_options = options.data();
  args.compile_options_size = options.size();
  CALL(PJRT_Compile, args);
  auto serialize = ARGS(PJRT_Executable_Serialize);
  serialize.executable = args.executable;
  CALL(PJRT_Executable_Serialize, serialize);
  auto load = ARGS(PJRT_Executable_DeserializeAndLoad);
  load.client = client_;
  load.serialized_executable = serialize.serialized_bytes;
  load.serialized_executable_size = serialize.serialized_bytes_size;
  CALL(PJRT_Executable_DeserializeAndLoad, load);
  serialize.serialized_executable_deleter(serialize.serialized_executable);
  PJRT_Buffer* a = put_f32({1, 2, 3});
  Lists results;
  ASSERT_TRUE(execute(load.loaded_executable, {{a, a}}, 1, &results).ok());
  EXPECT_EQ(get_f32(results[0][0]), (Floats{2, 4, 6}));
  destroy(a);
  destroy(results[0][0]);
  destroy(load.loaded_executable);
  destroy_executable(args.executable);
  auto destroy = ARGS(PJRT_TopologyDescription_Destroy);
  destroy.topology = topology.topology;
  CALL(PJRT_TopologyDescription_Destroy, destroy);
}

}  // namespace
}  // namespace tessera::pjrt_cpu
