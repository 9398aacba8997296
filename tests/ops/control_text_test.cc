#include <gmock/gmock.h>

#include "tessera/ops/autodiff.h"
#include "tessera/ops/control.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/sharding_ops.h"
#include "tests/ops/golden_text.h"

namespace tessera::op_testing {
namespace {

using Parameters = std::span<const Value>;
using Values = std::vector<Value>;

HostArray f32(Dims dims) { return HostArray(Shape{DType::kF32, std::move(dims)}); }

int count(std::string_view text, std::string_view word) {
  int found = 0;
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1))
    ++found;
  return found;
}

// ---- golden text

Values scan_program(Parameters p, bool reverse) {
  const ScanBody body = [&](Parameters c, Parameters s) -> ScanStep {
    const Value next = tanh(c[0] * s[0] + p[2]);
    return {.carry = {next}, .ys = {next + s[0]}};
  };
  const ScanStep result = scan(body, p.first(1), p.subspan(1, 1), {.reverse = reverse});
  return {result.carry[0], result.ys[0]};
}

TEST(ControlText, IsAsInTheGoldenFile) {
  const std::vector<HostArray> loop = {f32({2}), f32({3, 2}), f32({2})};
  const std::vector<HostArray> pair = {f32({2}), f32({2})};
  const std::vector<TextCase> cases = {
      {"scan", [](Graph&, Parameters p) { return scan_program(p, false); }, loop},
      {"scan_reverse", [](Graph&, Parameters p) { return scan_program(p, true); }, loop},
      {"scan_gradient",
       [](Graph&, Parameters p) { return gradients(sum(scan_program(p, false)[1]), p); }, loop},
      {"scan_of_no_step",
       [](Graph&, Parameters p) { return scan_program(p, false); },
       {f32({2}), f32({0, 2}), f32({2})}},
      {"while",
       [](Graph&, Parameters p) {
         return while_loop([&](Parameters s) { return less(sum(s[0]), sum(p[1])); },
                           [&](Parameters s) -> Values {
                             return {s[0] * 2.0, s[0]};
                           },
                           Values{p[0], p[0]});
       },
       pair},
      {"cond",
       [](Graph&, Parameters p) {
         return cond(
             less(sum(p[0]), 0.0),
             [&](Parameters a) -> Values {
               return {a[0] * p[1], a[0]};
             },
             [&](Parameters a) -> Values {
               return {exp(a[0]), p[1]};
             },
             p.first(1));
       },
       pair},
      {"checkpoint_gradient",
       [](Graph&, Parameters p) {
         const Branch f = [](Parameters a) -> Values { return {sum(sin(a[0] * a[1]))}; };
         return gradients(checkpoint(f, p)[0], p);
       },
       pair},
      {"custom_call",
       [](Graph&, Parameters p) {
         return custom_call(p, {.target = "tessera.gemm",
                                .backend_config = "{kc = 512 : i64}",
                                .results = {p[0].shape(), {DType::kS32, {}}}});
       },
       pair},
      {"custom_call_of_one_result",
       [](Graph&, Parameters p) {
         return custom_call(
             p.first(1),
             {.target = "noise", .results = {{DType::kU8, {4}}}, .has_side_effect = true});
       },
       pair},
      {"optimization_barrier", [](Graph&, Parameters p) { return optimization_barrier(p); }, pair},
  };
  expect_golden_text("control.mlir", cases);
}

TEST(ShardingText, IsAsInTheGoldenFile) {
  const Mesh mesh = *Mesh::create({{"a", 2}, {"b", 2}}, 4);
  const std::vector<HostArray> inputs = {f32({4, 4}), f32({4})};
  const auto region = [&](std::string name, std::function<Value(Value)> body) {
    return TextCase{std::move(name),
                    [=](Graph&, Parameters p) {
                      const ManualOptions options{
                          .mesh = mesh, .in = {{{{"a"}, {"b"}}}}, .out = {{{{"a"}, {"b"}}}}};
                      return manual_region(options, p.first(1), [&](Parameters local) -> Values {
                        return {body(local[0])};
                      });
                    },
                    inputs, mesh};
  };
  const std::vector<TextCase> cases = {
      {"constrain",
       [](Graph&, Parameters p) -> Values {
         return {constrain_axes(p[0], {{{"a"}, {"b"}}}), constrain_axes(p[1], {{{"a", "b"}}})};
       },
       inputs, mesh},
      {"constrain_on_one_device",
       [](Graph&, Parameters p) -> Values {
         return {constrain(p[0], {"batch", "embed"}) * 2.0};
       },
       inputs},
      region("psum",
             [=](Value v) {
               return psum(v, mesh, {"a", "b"});
             }),
      region("pmax", [=](Value v) { return pmax(v, mesh, {"b"}); }),
      region("pmin", [=](Value v) { return pmin(v, mesh, {"a"}); }),
      region("all_gather", [=](Value v) { return all_gather(v, mesh, "a", 1); }),
      region("psum_scatter", [=](Value v) { return psum_scatter(v, mesh, "b", 0); }),
      region("all_to_all", [=](Value v) { return all_to_all(v, mesh, "b", 0, 1); }),
      region("ppermute",
             [=](Value v) {
               return ppermute(v, mesh, "a", {{0, 1}});
             }),
      region("ppermute_of_none", [=](Value v) { return ppermute(v, mesh, "a", {}); }),
      region("axis_index",
             [=](Value v) { return v + convert(axis_index(v, mesh, "a"), DType::kF32); }),
      {"manual_region_gradient",
       [=](Graph&, Parameters p) {
         const ManualOptions options{
             .mesh = mesh, .in = {{{{"a"}, {"b"}}}, {{{"b"}}}}, .out = {{{{"a"}}}}};
         const Values out = manual_region(options, p, [&](Parameters local) -> Values {
           return {psum(matmul(local[0], local[1]), mesh, {"b"})};
         });
         return gradients(sum(out[0]), p);
       },
       inputs, mesh},
  };
  expect_golden_text("sharding.mlir", cases);
}

// ---- what is computed again

struct Halves {
  std::string forward;  // up to the barrier
  std::string barrier;
  std::string reverse;
};

Halves gradient_text(const RematPolicy& policy) {
  const TextCase c{"step",
                   [&](Graph&, Parameters p) {
                     const Branch layer = [](Parameters a) -> Values {
                       const Value hidden = checkpoint_name(tanh(matmul(a[0], a[1])), "hidden");
                       return {sum(sin(matmul(hidden, a[1])))};
                     };
                     return gradients(checkpoint(layer, p, policy)[0], p);
                   },
                   {f32({2, 3}), f32({3, 3})}};
  const std::string text = printed(c);
  const size_t begin = text.find("\"stablehlo.optimization_barrier\"");
  EXPECT_NE(begin, std::string::npos) << text;
  const size_t end = text.find('\n', begin);
  EXPECT_EQ(text.find("optimization_barrier", end), std::string::npos) << "one barrier a layer";
  const size_t line = text.rfind('\n', begin);
  return {text.substr(0, line), text.substr(line, end - line), text.substr(end)};
}

TEST(Rematerialization, SavingNothingComputesAllAgainBehindTheBarrier) {
  const Halves text = gradient_text(save_nothing());
  EXPECT_EQ(count(text.reverse, "stablehlo.tanh"), 1);
  // Two of the layer, again, and two for each of their gradients.
  EXPECT_EQ(count(text.reverse, "stablehlo.dot_general"), 6);
  // What is computed again starts from the barrier's results, not from the arguments.
  EXPECT_EQ(count(text.reverse, "%arg"), 0) << text.reverse;
  EXPECT_EQ(count(text.barrier, "%arg"), 2);
}

TEST(Rematerialization, SavedDotsAreNotComputedAgain) {
  const Halves text = gradient_text(save_dots());
  EXPECT_EQ(count(text.forward, "stablehlo.dot_general"), 2);
  EXPECT_EQ(count(text.reverse, "stablehlo.tanh"), 1);
  EXPECT_EQ(count(text.reverse, "stablehlo.dot_general"), 4);
  EXPECT_EQ(count(text.reverse, "%arg"), 0) << text.reverse;
}

TEST(Rematerialization, SavedNamesAreNotComputedAgain) {
  const Halves text = gradient_text(save_names({"hidden"}));
  EXPECT_EQ(count(text.forward, "stablehlo.tanh"), 1);
  EXPECT_EQ(count(text.reverse, "stablehlo.tanh"), 0);
  // Only the second product is needed again.
  EXPECT_EQ(count(text.reverse, "stablehlo.dot_general"), 5);
}

TEST(Rematerialization, SavingEverythingComputesNothingAgain) {
  const Halves text = gradient_text([](const Node&) { return Keep::kOnDevice; });
  EXPECT_EQ(count(text.reverse, "stablehlo.tanh"), 0);
  EXPECT_EQ(count(text.reverse, "stablehlo.dot_general"), 4);
}

constexpr char kToHost[] = "_xla_buffer_placement = \"pinned_host\"";
constexpr char kToDevice[] = "_xla_buffer_placement = \"device\"";

TEST(Rematerialization, WhatIsKeptOnTheHostGoesThereAtOnceAndComesBackBehindTheBarrier) {
  const Halves text = gradient_text(save_names({}, {"hidden"}));
  EXPECT_EQ(count(text.forward, kToHost), 1) << text.forward;
  EXPECT_EQ(count(text.reverse, kToDevice), 1) << text.reverse;
  EXPECT_EQ(count(text.forward, kToDevice) + count(text.reverse, kToHost), 0);
  EXPECT_EQ(count(text.reverse, "stablehlo.tanh"), 0);
  EXPECT_EQ(count(gradient_text(save_names({"hidden"})).forward, "custom_call"), 0);
}

// What the forward loop stacks is on the host already, and each step of the reverse one brings its
// own slice back: no stack is ever whole on the device.
TEST(Rematerialization, ALoopStacksOnTheHostWhatIsKeptThere) {
  const TextCase c{"step",
                   [](Graph&, Parameters p) {
                     const ScanBody body = [](Parameters carry, Parameters slices) -> ScanStep {
                       const Branch layer = [](Parameters a) -> Values {
                         return {sin(checkpoint_name(tanh(matmul(a[0], a[1])), "hidden"))};
                       };
                       return {.carry = checkpoint(layer, Values{carry[0], slices[0]},
                                                   save_names({}, {"hidden"})),
                               .ys = {}};
                     };
                     return gradients(sum(scan(body, p.first(1), p.subspan(1)).carry[0]), p);
                   },
                   {f32({2, 3}), f32({4, 3, 3})}};
  const std::string text = printed(c);
  const size_t second = text.find("stablehlo.while", text.find("stablehlo.while") + 1);
  ASSERT_NE(second, std::string::npos) << text;
  const std::string forward = text.substr(0, second), reverse = text.substr(second);
  EXPECT_EQ(count(forward, kToHost), 1) << text;
  EXPECT_EQ(count(reverse, kToDevice), 1) << text;
  EXPECT_EQ(count(forward, kToDevice) + count(reverse, kToHost), 0) << text;
  EXPECT_EQ(count(reverse, "stablehlo.tanh"), 0);
  EXPECT_EQ(count(text, "tensor<4x2x3xf32>, tensor<1x2x3xf32>"), 2) << text;
}

// Inside a scan the forward loop must keep the layers' inputs and nothing that is computed again.
TEST(Rematerialization, AForwardLoopKeepsOnlyTheInputsOfItsLayers) {
  const TextCase c{"step",
                   [](Graph&, Parameters p) {
                     const ScanBody body = [](Parameters carry, Parameters slices) -> ScanStep {
                       const Branch layer = [](Parameters a) -> Values {
                         return {sin(tanh(matmul(a[0], a[1])))};
                       };
                       return {.carry = checkpoint(layer, Values{carry[0], slices[0]}), .ys = {}};
                     };
                     const Value y = sum(scan(body, p.first(1), p.subspan(1)).carry[0]);
                     Values out = gradients(y, p);
                     out.push_back(y);
                     return out;
                   },
                   {f32({2, 3}), f32({4, 3, 3})}};
  const std::string text = printed(c);
  EXPECT_EQ(count(text, "stablehlo.while"), 2) << text;
  // The forward loop's one stack is of the carries; the reverse loop's is of the weights'
  // gradients.
  EXPECT_EQ(count(text, "dynamic_update_slice"), 2) << text;
  EXPECT_EQ(count(text, "tensor<4x2x3xf32>, tensor<1x2x3xf32>"), 1) << text;
}

}  // namespace
}  // namespace tessera::op_testing
