#include "tessera/runtime/compiled_function.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "tessera/runtime/jit.h"
#include "tessera/runtime/runtime_fixture.h"
#include "tessera/sharding/shardy.h"

namespace tessera {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::iota;
using testing::message;
using testing::sharded;
using testing::test_mesh;

class CompiledFunctionTest : public testing::RuntimeTest {
 protected:
  CompiledFunction compile(Program program) {
    auto function = CompiledFunction::compile(*runtime_, std::move(program));
    CHECK_MSG(function.ok(), function.status().ToString());
    return *function;
  }
};

std::string attribute(const NamedSharding& sharding, int rank) {
  return str_cat("sdy.sharding = ", shardy_sharding(sharding.spec(), rank));
}

/// state.w := state.w + x, with the old w given away.
Program accumulate(const NamedSharding& sharding) {
  const Shape shape{DType::kF32, {4, 8}};
  const std::string type = "tensor<4x8xf32>", layout = attribute(sharding, 2);
  return {.name = "accumulate",
          .text = str_cat("module @accumulate { ", shardy_mesh(sharding.mesh()),
                          " func.func public @main(%w: ", type, " {", layout,
                          ", tf.aliasing_output = 0 : i32}, %x: ", type, " {", layout, "}) -> (",
                          type, " {", layout, "}) { %0 = stablehlo.add %w, %x : ", type,
                          " return %0 : ", type, " } }"),
          .mesh = sharding.mesh(),
          .arguments = {{"state.w", shape, sharding, true}, {"x", shape, sharding}},
          .results = {{"state.w", shape, sharding}}};
}

/// x [M,K] times y [K,N].
Program matmul(const NamedSharding& x, const NamedSharding& y, const NamedSharding& z) {
  return {.name = "matmul",
          .text = str_cat("module @matmul { ", shardy_mesh(x.mesh()),
                          " func.func public @main(%x: tensor<16x8xf32> {", attribute(x, 2),
                          "}, %y: tensor<8x16xf32> {", attribute(y, 2),
                          "}) -> (tensor<16x16xf32> {", attribute(z, 2),
                          "}) { %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : "
                          "(tensor<16x8xf32>, tensor<8x16xf32>) -> tensor<16x16xf32> "
                          "return %0 : tensor<16x16xf32> } }"),
          .mesh = x.mesh(),
          .arguments = {{"x", {DType::kF32, {16, 8}}, x}, {"y", {DType::kF32, {8, 16}}, y}},
          .results = {{"z", {DType::kF32, {16, 16}}, z}}};
}

TEST_F(CompiledFunctionTest, AShardedMatmulEqualsTheHosts) {
  const HostArray x = iota({16, 8}, 0.25f), y = iota({8, 16}, 0.5f);
  std::vector<float> expected(16 * 16);
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 16; ++j) {
      for (int k = 0; k < 8; ++k) {
        expected[i * 16 + j] += x.as<float>()[i * 8 + k] * y.as<float>()[k * 16 + j];
      }
    }
  }
  for (const auto& [data, tensor] :
       std::vector<std::pair<int, int>>{{1, 1}, {2, 1}, {2, 2}, {2, 4}}) {
    const Mesh mesh = test_mesh({{"data", data}, {"tensor", tensor}});
    const std::vector<std::array<PartitionSpec, 3>> layouts = {
        {{{{{"data"}}}, {{{}, {"tensor"}}}, {{{"data"}, {"tensor"}}}}},  // no exchange
        {{{{{"data"}, {"tensor"}}}, {{{"tensor"}}}, {{{"data"}}}}},      // summed over tensor
        {{{{{}, {"data"}}}, {{{}, {"data"}}}, {}}}};                     // gathered
    for (const auto& [sx, sy, sz] : layouts) {
      const auto lx = sharded(mesh, sx), ly = sharded(mesh, sy), lz = sharded(mesh, sz);
      const CompiledFunction f = compile(matmul(lx, ly, lz));
      const std::vector<Array> arguments = {put(x, lx), put(y, ly)};
      const auto z = f(arguments);
      ASSERT_TRUE(z.ok()) << z.status();
      EXPECT_EQ((*z)[0].sharding(), lz);
      const auto host = (*z)[0].to_host();
      ASSERT_TRUE(host.ok()) << host.status();
      for (size_t i = 0; i < expected.size(); ++i) {
        ASSERT_FLOAT_EQ(host->as<float>()[i], expected[i]) << to_string(lz, 2) << " at " << i;
      }
    }
  }
}

TEST_F(CompiledFunctionTest, ADonatedArrayNamesTheCallThatConsumedIt) {
  const auto layout = sharded(test_mesh({{"fsdp", 4}}), {{{"fsdp"}}});
  const CompiledFunction f = compile(accumulate(layout));
  const Array w = put(iota({4, 8}), layout), x = put(iota({4, 8}), layout);
  const Array other_handle = w;
  const std::vector<Array> arguments = {w, x};
  const auto result = f(arguments);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FLOAT_EQ((*result)[0].to_host()->as<float>()[31], 62);
  const std::string expected =
      "array f32[4,8] was donated as argument 'state.w' to call 1 of 'accumulate' and is gone";
  EXPECT_THAT(message(other_handle.to_host().status()), HasSubstr(expected));
  EXPECT_THAT(message(other_handle.await()), HasSubstr(expected));
  EXPECT_THAT(message(device_put(*runtime_, w, sharded(layout.mesh(), {})).status()),
              HasSubstr(expected));
  EXPECT_THAT(message(f(arguments).status()),
              HasSubstr("call of 'accumulate': argument 'state.w': " + expected));
  EXPECT_TRUE(x.check_alive().ok());
}

TEST_F(CompiledFunctionTest, TheDonatedMemoryIsReallyTakenOver) {
  const auto layout = sharded(test_mesh({{"fsdp", 2}}), {{{"fsdp"}}});
  const CompiledFunction f = compile(accumulate(layout));
  EXPECT_EQ(f.executable().memory_stats()->alias_bytes, 2 * 8 * 4);
  const std::vector<Array> arguments = {put(iota({4, 8}), layout), put(iota({4, 8}), layout)};
  ASSERT_TRUE(f(arguments).ok());
  for (const Array::Piece& piece : arguments[0].pieces()) {
    EXPECT_TRUE(piece.buffer.is_deleted());
  }
}

TEST_F(CompiledFunctionTest, AnArrayCannotBeDonatedAndReadByOneCall) {
  const auto layout = sharded(test_mesh({{"fsdp", 2}}), {{{"fsdp"}}});
  const CompiledFunction f = compile(accumulate(layout));
  const Array w = put(iota({4, 8}), layout);
  const std::vector<Array> arguments = {w, w};
  EXPECT_THAT(
      message(f(arguments).status()),
      HasSubstr("argument 'x': array f32[4,8] was donated as argument 'state.w' to call 1"));
  // The call did not happen, so nothing was consumed.
  EXPECT_TRUE(w.check_alive().ok());
  EXPECT_TRUE(w.to_host().ok());
}

TEST_F(CompiledFunctionTest, MismatchesNameTheArgument) {
  const Mesh mesh = test_mesh({{"data", 2}, {"fsdp", 2}});
  const auto layout = sharded(mesh, {{{}, {"fsdp"}}});
  const CompiledFunction f = compile(accumulate(layout));
  const Array w = put(iota({4, 8}), layout);
  const auto call = [&](const Array& x) {
    const std::vector<Array> arguments = {w, x};
    return message(f(arguments).status());
  };
  EXPECT_EQ(call(put(iota({4, 8}), sharded(mesh, {{{"fsdp"}}}))),
            "call of 'accumulate': argument 'x': got f32[4,8] sharded [fsdp,_], required f32[4,8] "
            "sharded [_,fsdp]; device_put lays an array out anew");
  EXPECT_EQ(call(put(iota({8, 8}), layout)),
            "call of 'accumulate': argument 'x': got f32[8,8] sharded [_,fsdp], required f32[4,8] "
            "sharded [_,fsdp]");
  EXPECT_EQ(call(put(HostArray(Shape{DType::kBF16, {4, 8}}), layout)),
            "call of 'accumulate': argument 'x': got bf16[4,8] sharded [_,fsdp], required f32[4,8] "
            "sharded [_,fsdp]");
  EXPECT_EQ(
      call(put(iota({4, 8}), sharded(test_mesh({{"fsdp", 2}}), {{{}, {"fsdp"}}}))),
      "call of 'accumulate': argument 'x': got f32[4,8] sharded [_,fsdp] over fsdp=2, required "
      "f32[4,8] sharded [_,fsdp] over data=2, fsdp=2; device_put lays an array out anew");
  EXPECT_EQ(call({}), "call of 'accumulate': argument 'x': no array was passed");
  EXPECT_EQ(message(f({&w, 1}).status()), "call of 'accumulate': got 1 arguments, required 2");
  EXPECT_TRUE(w.check_alive().ok());
}

TEST_F(CompiledFunctionTest, WrongDescriptionsAreFoundWhenCompiling) {
  const Mesh mesh = test_mesh({{"fsdp", 2}});
  const auto compile_error = [&](auto change) {
    Program program = accumulate(sharded(mesh, {{{"fsdp"}}}));
    change(program);
    return message(CompiledFunction::compile(*runtime_, std::move(program)).status());
  };
  EXPECT_THAT(compile_error([](Program& p) { p.text = "nonsense"; }),
              HasSubstr("program 'accumulate': compilation: "));
  EXPECT_THAT(compile_error([](Program& p) { p.results.push_back(p.results[0]); }),
              HasSubstr("the module returns 1 results, described are 2"));
  EXPECT_THAT(compile_error([](Program& p) {
                p.arguments[1].shape.dims = {3, 8};
              }),
              HasSubstr("argument: 'x': dimension 0 of f32[3,8] has size 3"));
  EXPECT_THAT(compile_error([&](Program& p) {
                p.results[0].sharding = sharded(*Mesh::create({{"y", 2}}, {0, 1}), {});
              }),
              HasSubstr("result: 'state.w' is laid out over another mesh (y=2)"));
}

TEST_F(CompiledFunctionTest, ProgramsAreCompiledOnceInARuntime) {
  const Mesh mesh = test_mesh({{"fsdp", 2}});
  const CompiledFunction first = compile(accumulate(sharded(mesh, {{{"fsdp"}}})));
  const CompiledFunction again = compile(accumulate(sharded(mesh, {{{"fsdp"}}})));
  EXPECT_FALSE(first.was_cached());
  EXPECT_TRUE(again.was_cached());
  EXPECT_EQ(&first.executable(), &again.executable());
  Program other = accumulate(sharded(mesh, {{{"fsdp"}}}));
  other.overrides = {{"xla_cpu_enable_fast_math", false}};
  EXPECT_FALSE(compile(std::move(other)).was_cached());
  const RuntimeMetrics metrics = runtime_->metrics();
  EXPECT_EQ(metrics.compilations, 2);
  EXPECT_EQ(metrics.cache_hits, 1);
  EXPECT_GT(metrics.compile_seconds, 0);
  EXPECT_DOUBLE_EQ(first.compile_seconds(), again.compile_seconds());
}

TEST_F(CompiledFunctionTest, ThreadsThatAskForOneProgramCompileItOnce) {
  const Program program = accumulate(sharded(test_mesh({{"fsdp", 2}}), {{{"fsdp"}}}));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { compile(program); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(runtime_->metrics().compilations, 1);
  EXPECT_EQ(runtime_->metrics().cache_hits, 3);
}

TEST_F(CompiledFunctionTest, ManyCallsMayBeInFlight) {
  const auto layout = sharded(test_mesh({{"data", 2}, {"fsdp", 4}}), {{{"fsdp"}}});
  const CompiledFunction f = compile(accumulate(layout));
  HostArray ones(Shape{DType::kF32, {4, 8}});
  for (float& value : ones.as<float>()) value = 1;
  const Array x = put(ones, layout);
  Array w = put(HostArray(ones.shape()), layout);
  constexpr int kCalls = 500;
  for (int i = 0; i < kCalls; ++i) {
    const std::vector<Array> arguments = {w, x};
    auto result = f(arguments);
    ASSERT_TRUE(result.ok()) << result.status();
    w = std::move((*result)[0]);
  }
  EXPECT_THAT(w.to_host()->as<float>(), Each(kCalls));
  EXPECT_EQ(f.calls(), kCalls);
  EXPECT_EQ(runtime_->metrics().dispatches, kCalls);
}

// Programs with collectives, from several threads at once: without one order on all device queues
// they wait for each other for ever.
TEST_F(CompiledFunctionTest, ThreadsMayCallCollectiveProgramsAtOnce) {
  const Mesh mesh = test_mesh({{"x", 4}});
  const auto split = sharded(mesh, {{{}, {"x"}}});
  const CompiledFunction f = compile(matmul(split, sharded(mesh, {{{"x"}}}), sharded(mesh, {})));
  const HostArray x = iota({16, 8}, 0.25f), y = iota({8, 16}, 0.5f);
  const std::vector<Array> arguments = {put(x, split), put(y, sharded(mesh, {{{"x"}}}))};
  const HostArray expected = f(arguments).value()[0].to_host().value();
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      std::vector<Array> results;
      for (int i = 0; i < 50; ++i) results.push_back(f(arguments).value()[0]);
      for (const Array& result : results) {
        if (!std::ranges::equal(result.to_host()->bytes(), expected.bytes())) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(CompiledFunctionTest, ResultsOutliveTheRuntime) {
  const auto layout = sharded(test_mesh({{"fsdp", 2}}), {{{"fsdp"}}});
  const CompiledFunction f = compile(accumulate(layout));
  std::vector<Array> arguments = {put(iota({4, 8}), layout), put(iota({4, 8}), layout)};
  runtime_.reset();
  EXPECT_FLOAT_EQ(f(arguments).value()[0].to_host()->as<float>()[1], 2);
}

}  // namespace
}  // namespace tessera
