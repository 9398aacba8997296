#include <gmock/gmock.h>

#include <cmath>
#include <numeric>

#include "tessera/ops/autodiff.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/control.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/shape.h"
#include "tessera/ops/sharding_ops.h"
#include "tessera/pjrt/testing.h"
#include "tessera/stablehlo/module.h"
#include "tests/ops/op_testing.h"

namespace tessera::op_testing {
namespace {

using ::testing::HasSubstr;
using Parameters = std::span<const Value>;
using Values = std::vector<Value>;
using Doubles = std::vector<double>;

Mesh line() { return *Mesh::create({{"x", 8}}, 8); }
Mesh grid() { return *Mesh::create({{"a", 2}, {"b", 4}}, 8); }
Mesh cube() { return *Mesh::create({{"a", 2}, {"one", 1}, {"b", 2}, {"c", 2}}, 8); }

PartitionSpec spec(std::vector<std::vector<std::string>> dims) { return {std::move(dims)}; }

// A region over one argument and result.
BodyFn region(const Mesh& mesh, PartitionSpec in, PartitionSpec out,
              std::function<Value(Value)> body) {
  return [=](Graph&, Parameters p) -> Values {
    const ManualOptions options{.mesh = mesh, .in = {in}, .out = {out}};
    return manual_region(options, p.first(1),
                         [&](Parameters local) -> Values { return {body(local[0])}; });
  };
}

Doubles run_one(const Mesh& mesh, const BodyFn& fn, std::vector<HostArray> inputs) {
  const Result<std::vector<HostArray>> outputs = evaluate(fn, inputs, mesh);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? to_doubles((*outputs)[0]) : Doubles();
}

// 0, 1, 2, ... as f64.
HostArray counting(Dims dims) {
  HostArray array(Shape{DType::kF64, std::move(dims)});
  std::iota(array.as<double>().begin(), array.as<double>().end(), 0.0);
  return array;
}

// ---- values, on 8 devices

TEST(ManualRegion, GivesEachDeviceItsOwnPart) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  // Each device adds its own place to its own rows.
  const BodyFn fn = region(line(), spec({{"x"}}), spec({{"x"}}), [](Value local) {
    EXPECT_EQ(to_string(local.shape()), "f64[2]");
    return local * 100.0 + convert(axis_index(local, line(), "x"), DType::kF64);
  });
  Doubles expected;
  for (int i = 0; i < 16; ++i) expected.push_back(i * 100.0 + i / 2);
  EXPECT_EQ(run_one(line(), fn, {counting({16})}), expected);
}

TEST(ManualRegion, LaysPartsOutOverSeveralAxes) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  // Rows over b, columns over a and c, a outermost; `one` splits nothing.
  const BodyFn fn = region(cube(), spec({{"b", "one"}, {"a", "c"}}),
                           spec({{"b", "one"}, {"a", "c"}}), [](Value local) {
                             const auto place = [&](const char* axis) {
                               return convert(axis_index(local, cube(), axis), DType::kF64);
                             };
                             return local * 1000.0 + place("a") * 100.0 + place("b") * 10.0 +
                                    place("c") + place("one") * 7.0;
                           });
  Doubles expected;
  for (int row = 0; row < 2; ++row) {
    for (int column = 0; column < 4; ++column) {
      expected.push_back((row * 4 + column) * 1000.0 + column / 2 * 100 + row * 10 + column % 2);
    }
  }
  EXPECT_EQ(run_one(cube(), fn, {counting({2, 4})}), expected);
}

TEST(ManualRegion, TakesSeveralArgumentsResultsAndCaptures) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const BodyFn fn = [](Graph&, Parameters p) -> Values {
    const ManualOptions options{.mesh = grid(),
                                .in = {spec({{"a"}, {"b"}}), spec({{"b"}})},
                                .out = {spec({{"b"}, {"a"}}), spec({})}};
    const Values out = manual_region(options, p.first(2), [&](Parameters local) -> Values {
      const Value joined = psum(sum(local[0]) + sum(local[1]), grid(), {"a", "b"});
      return {transpose(local[0]) + p[2], joined};
    });
    return {concatenate({reshape(out[0], {8}), reshape(out[1], {1})}, 0)};
  };
  // x [2,4] and y [4]: the sum over all devices counts y once for each a.
  const Doubles got = run_one(grid(), fn, {counting({2, 4}), counting({4}), counting({})});
  EXPECT_EQ(got, (Doubles{0, 4, 1, 5, 2, 6, 3, 7, 28 + 2 * 6}));
}

TEST(Collectives, SumOverOneAxisOrSeveral) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto sum_over = [](std::vector<std::string> axes, PartitionSpec out) {
    return region(grid(), spec({{"a"}, {"b"}}), std::move(out),
                  [=](Value local) { return psum(local, grid(), axes); });
  };
  const HostArray x = counting({2, 4});  // device (a, b) holds 4a + b
  EXPECT_EQ(run_one(grid(), sum_over({"a"}, spec({{}, {"b"}})), {x}), (Doubles{4, 6, 8, 10}));
  EXPECT_EQ(run_one(grid(), sum_over({"b"}, spec({{"a"}})), {x}), (Doubles{6, 22}));
  EXPECT_EQ(run_one(grid(), sum_over({"b", "a"}, spec({})), {x}), (Doubles{28}));
}

TEST(Collectives, TakeTheLargestAndTheSmallest) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const HostArray x = from_doubles({DType::kS32, {8}}, Doubles{3, -7, 5, 2, 9, 0, -1, 4});
  const BodyFn largest =
      region(line(), spec({{"x"}}), spec({}), [](Value v) { return pmax(v, line(), {"x"}); });
  const BodyFn smallest =
      region(line(), spec({{"x"}}), spec({}), [](Value v) { return pmin(v, line(), {"x"}); });
  EXPECT_EQ(run_one(line(), largest, {x}), (Doubles{9}));
  EXPECT_EQ(run_one(line(), smallest, {x}), (Doubles{-7}));
}

TEST(Collectives, GatherInTheOrderOfTheAxis) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  // Over the outer axis of the mesh, whose devices are not neighbours.
  const BodyFn fn = region(grid(), spec({{"a"}, {"b"}}), spec({{}, {"b"}}), [](Value v) {
    EXPECT_EQ(to_string(v.shape()), "f64[1,2]");
    return all_gather(v, grid(), "a", 0);
  });
  EXPECT_EQ(run_one(grid(), fn, {counting({2, 8})}), to_doubles(counting({2, 8})));
  const BodyFn inner = region(grid(), spec({{"a"}, {"b"}}), spec({{"a"}}),
                              [](Value v) { return all_gather(v, grid(), "b", 1) * 2.0; });
  Doubles twice = to_doubles(counting({2, 8}));
  for (double& value : twice) value *= 2;
  EXPECT_EQ(run_one(grid(), inner, {counting({2, 8})}), twice);
}

TEST(Collectives, SumAndKeepAPiece) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  // Each of 4 devices along b holds [2,4]·(its place + 1); the sum is 10 times, split by columns.
  const BodyFn fn = region(grid(), spec({{"a"}}), spec({{"a"}, {"b"}}), [](Value v) {
    const Value factor = convert(axis_index(v, grid(), "b"), DType::kF64) + 1.0;
    return psum_scatter(v * factor, grid(), "b", 1);
  });
  Doubles expected = to_doubles(counting({4, 4}));
  for (double& value : expected) value *= 10;
  EXPECT_EQ(run_one(grid(), fn, {counting({4, 4})}), expected);
}

TEST(Collectives, ExchangeAllToAll) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  // Rows over x become columns over x: the same array, and the local pieces are transposed.
  const BodyFn fn = region(line(), spec({{"x"}}), spec({{}, {"x"}}), [](Value v) {
    EXPECT_EQ(to_string(v.shape()), "f64[1,16]");
    const Value exchanged = all_to_all(v, line(), "x", /*split_dim=*/1, /*concat_dim=*/0);
    EXPECT_EQ(to_string(exchanged.shape()), "f64[8,2]");
    return exchanged;
  });
  EXPECT_EQ(run_one(line(), fn, {counting({8, 16})}), to_doubles(counting({8, 16})));
}

TEST(Collectives, PassAlongAndGiveZerosToWhoGetsNothing) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto passing = [](std::vector<std::pair<int64_t, int64_t>> pairs) {
    return region(grid(), spec({{"a"}, {"b"}}), spec({{"a"}, {"b"}}),
                  [=](Value v) { return ppermute(v, grid(), "b", pairs); });
  };
  const HostArray x = counting({2, 4});
  EXPECT_EQ(run_one(grid(), passing({{0, 1}, {1, 2}, {2, 3}, {3, 0}}), {x}),
            (Doubles{3, 0, 1, 2, 7, 4, 5, 6}));
  EXPECT_EQ(run_one(grid(), passing({{0, 2}, {3, 1}}), {x}), (Doubles{0, 3, 0, 0, 0, 7, 4, 0}));
  EXPECT_EQ(run_one(grid(), passing({}), {x}), Doubles(8, 0.0));
}

TEST(Collectives, RunInsideLoopsOfARegion) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  // A ring: after 8 steps every device has added every other's value.
  const BodyFn fn = region(line(), spec({{"x"}}), spec({{"x"}}), [](Value v) {
    std::vector<std::pair<int64_t, int64_t>> ring;
    for (int i = 0; i < 8; ++i) ring.push_back({i, (i + 1) % 8});
    const Values init = {v, zeros_like(v)};
    const ScanBody body = [&](Parameters c, Parameters) -> ScanStep {
      return {.carry = {ppermute(c[0], line(), "x", ring), c[1] + c[0]}, .ys = {}};
    };
    return scan(body, init, {}, {.length = 8}).carry[1];
  });
  EXPECT_EQ(run_one(line(), fn, {counting({8})}), Doubles(8, 28.0));
}

TEST(Constrain, ChangesNoValue) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const BodyFn fn = [](Graph&, Parameters p) -> Values {
    const Value x = constrain_axes(p[0], spec({{"b"}, {"a"}}));
    return {constrain_axes(matmul(x, transpose(x)), spec({{"a", "b"}}))};
  };
  const HostArray x = counting({8, 2});
  EXPECT_EQ(run_one(grid(), fn, {x}), to_doubles((*evaluate(fn, std::span(&x, 1)))[0]));
}

// ---- gradients of the global function

GradientCase on_mesh(std::string name, Mesh mesh, BodyFn fn, std::vector<HostArray> inputs) {
  return {.name = std::move(name),
          .fn = std::move(fn),
          .inputs = std::move(inputs),
          .options = {},
          .mesh = std::move(mesh)};
}

// sin makes the second order something else than zero.
GradientCase collective_case(std::string name, Mesh mesh, PartitionSpec in, PartitionSpec out,
                             Dims dims, std::function<Value(Value)> collective) {
  const BodyFn fn = region(mesh, std::move(in), std::move(out),
                           [collective](Value v) { return sin(collective(v * v)); });
  return on_mesh(std::move(name), std::move(mesh), fn, {random_f64(std::move(dims), 0.2, 1)});
}

std::vector<GradientCase> collective_cases() {
  return {
      collective_case("psum_of_one_axis", grid(), spec({{"a"}, {"b"}}), spec({{"a"}}), {2, 4},
                      [](Value v) { return psum(v, grid(), {"b"}); }),
      collective_case("psum_of_all_axes", grid(), spec({{"a"}, {"b"}}), spec({}), {2, 4},
                      [](Value v) {
                        return psum(v, grid(), {"a", "b"});
                      }),
      collective_case("psum_of_a_replicated_argument", grid(), spec({{"a"}}), spec({{"a"}}), {2, 2},
                      [](Value v) { return psum(v, grid(), {"b"}); }),
      collective_case("all_gather", grid(), spec({{"a"}, {"b"}}), spec({{}, {"b"}}), {2, 4},
                      [](Value v) { return all_gather(v, grid(), "a", 0); }),
      collective_case("psum_scatter", grid(), spec({{"a"}}), spec({{"a"}, {"b"}}), {2, 4},
                      [](Value v) {
                        const Value place = convert(axis_index(v, grid(), "b"), DType::kF64);
                        return psum_scatter(v * (place + 1.0) * 0.2, grid(), "b", 1);
                      }),
      collective_case("all_to_all", line(), spec({{"x"}}), spec({{}, {"x"}}), {8, 8},
                      [](Value v) { return all_to_all(v, line(), "x", 1, 0); }),
      collective_case("ppermute", grid(), spec({{"a"}, {"b"}}), spec({{"a"}, {"b"}}), {2, 4},
                      [](Value v) {
                        return ppermute(v, grid(), "b", {{0, 1}, {1, 3}, {3, 2}}) + v;
                      }),
      collective_case("parts_over_three_axes", cube(), spec({{"b", "one"}, {"a", "c"}}),
                      spec({{"b", "one"}, {"a", "c"}}), {2, 4},
                      [](Value v) {
                        const Value place = convert(axis_index(v, cube(), "a"), DType::kF64);
                        return v * (place + 1.0);
                      }),
  };
}

std::vector<GradientCase> region_cases() {
  std::vector<GradientCase> cases;
  // A tensor-parallel layer: the first product split by columns, the second by rows, then a sum.
  // The weights' gradients need no sum over "b", x's does, and the capture's over both axes.
  cases.push_back(
      on_mesh("tensor_parallel_layer", grid(),
              [](Graph&, Parameters p) -> Values {
                const ManualOptions options{.mesh = grid(),
                                            .in = {spec({{"a"}}), spec({{}, {"b"}}), spec({{"b"}})},
                                            .out = {spec({{"a"}}), spec({})}};
                return manual_region(options, p.first(3), [&](Parameters local) -> Values {
                  const Value hidden = tanh(matmul(local[0], local[1])) * sum(p[3]);
                  const Value out = psum(matmul(hidden, local[2]), grid(), {"b"});
                  return {out, psum(sum(out * out), grid(), {"a"})};
                });
              },
              {random_f64({2, 3}), random_f64({3, 4}, -1, 1, 1), random_f64({4, 2}, -1, 1, 2),
               random_f64({2}, -1, 1, 3)}));
  cases.push_back(on_mesh(
      "region_in_scan_and_checkpoint", grid(),
      [](Graph&, Parameters p) -> Values {
        const ManualOptions options{
            .mesh = grid(), .in = {spec({{"a"}}), spec({{}, {"b"}})}, .out = {spec({{"a"}})}};
        const Branch layer = [&](Parameters a) {
          return manual_region(options, a, [](Parameters local) -> Values {
            return {tanh(all_gather(matmul(local[0], local[1]), grid(), "b", 1))};
          });
        };
        const ScanBody body = [&](Parameters carry, Parameters slices) -> ScanStep {
          const Values args = {carry[0], slices[0]};
          return {.carry = checkpoint(layer, args), .ys = {}};
        };
        return scan(body, p.first(1), p.subspan(1)).carry;
      },
      {random_f64({2, 4}), random_f64({2, 4, 4}, -1, 1, 1)}));
  cases.push_back(on_mesh(
      "scan_in_region", line(),
      region(line(), spec({{"x"}}), spec({{"x"}}),
             [](Value v) {
               const ScanBody body = [](Parameters c, Parameters) -> ScanStep {
                 const Value next = ppermute(c[0], line(), "x", {{0, 1}, {1, 0}, {2, 3}, {5, 2}});
                 return {.carry = {sin(c[0]) + next * c[0]}, .ys = {}};
               };
               return scan(body, std::span(&v, 1), {}, {.length = 2}).carry[0];
             }),
      {random_f64({8})}));
  cases.push_back(
      on_mesh("region_with_integers", line(),
              [](Graph& g, Parameters p) -> Values {
                const Value counts = iota(g, {DType::kS32, {8}}, 0);
                const Values args = {counts, p[0]};
                const ManualOptions options{.mesh = line(),
                                            .in = {spec({{"x"}}), spec({{"x"}})},
                                            .out = {spec({{"x"}}), spec({{"x"}})}};
                const Values out = manual_region(options, args, [](Parameters local) -> Values {
                  return {local[0] + 1.0, sin(local[1]) * convert(local[0], DType::kF64)};
                });
                return {out[1] * convert(out[0], DType::kF64)};
              },
              {random_f64({8})}));
  cases.push_back(on_mesh("constrain", grid(),
                          [](Graph&, Parameters p) -> Values {
                            return {sin(constrain_axes(p[0] * p[0], spec({{"a"}, {"b"}})))};
                          },
                          {random_f64({2, 4})}));
  return cases;
}

const bool kCollectives = add_gradient_cases("collectives", collective_cases);
const bool kRegions = add_gradient_cases("manual_region", region_cases);

// ---- messages

Status trace_error(const BodyFn& fn, Dims dims = {8, 8}) {
  const HostArray x = random_f64(std::move(dims));
  return trace_like(fn, std::span(&x, 1)).status();
}

Status print_error(const BodyFn& fn, const Mesh* mesh, const AxisRules* rules = nullptr) {
  const HostArray x = random_f64({8, 8});
  const auto graph = trace_like(fn, std::span(&x, 1));
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return graph.status();
  return stablehlo::print_module(**graph, {.mesh = mesh, .rules = rules}).status();
}

TEST(ManualRegionErrors, SayWhichDimensionDoesNotFit) {
  const auto identity = [](Value v) { return v; };
  const auto in = [&](std::vector<std::vector<std::string>> dims) {
    return region(grid(), spec(std::move(dims)), spec({}), identity);
  };
  EXPECT_THAT(trace_error(in({{"a"}, {"b"}}), {3, 4}).message(),
              HasSubstr("[manual_region] dimension 0 of f64[3,4] does not divide into 2 shards"));
  EXPECT_THAT(trace_error(in({{"a"}, {}, {"b"}})).message(),
              HasSubstr("more dimensions than f64[8,8]"));
  EXPECT_THAT(trace_error(in({{"q"}})).message(),
              HasSubstr("the mesh has no axis 'q'; it has a, b"));
  const BodyFn two = [](Graph&, Parameters p) -> Values {
    return manual_region({.mesh = grid(), .in = {spec({})}, .out = {}}, p,
                         [](Parameters local) -> Values { return {local[0]}; });
  };
  EXPECT_THAT(trace_error(two).message(),
              HasSubstr("[manual_region] the body returns 1 values but `out` has 0"));
  const BodyFn none = [](Graph&, Parameters p) -> Values {
    return manual_region({.mesh = grid(), .in = {}, .out = {}}, p,
                         [](Parameters) -> Values { return {}; });
  };
  EXPECT_THAT(trace_error(none).message(), HasSubstr("gets 1 arguments but `in` has 0"));
}

TEST(CollectiveErrors, NameOpAxisAndShape) {
  const auto inside = [](std::function<Value(Value)> body) {
    return region(grid(), spec({{"a"}}), spec({{"a"}}), std::move(body));
  };
  EXPECT_THAT(trace_error(inside([](Value v) { return psum(v, grid(), {"z"}); })).message(),
              HasSubstr("[psum] the mesh has no axis 'z'; it has a, b; operands f64[4,8]"));
  EXPECT_THAT(trace_error(inside([](Value v) { return all_gather(v, grid(), "b", 2); })).message(),
              HasSubstr("[all_gather] dimension 2 does not exist in f64[4,8]"));
  EXPECT_THAT(trace_error(inside([](Value v) { return psum_scatter(v, grid(), "b", 1); }), {8, 6})
                  .message(),
              HasSubstr("[psum_scatter] dimension 1 of f64[4,6] does not divide among 4 devices"));
  EXPECT_THAT(trace_error(inside([](Value v) {
                return ppermute(v, grid(), "b", {{0, 4}});
              })).message(),
              HasSubstr("[ppermute] pair (0, 4) is outside the 4 devices of the axis"));
  EXPECT_THAT(trace_error(inside([](Value v) {
                return ppermute(v, grid(), "b", {{0, 1}, {2, 1}});
              })).message(),
              HasSubstr("device 1 receives twice"));
  EXPECT_THAT(trace_error(inside([](Value v) {
                return ppermute(v, grid(), "b", {{0, 1}, {0, 2}});
              })).message(),
              HasSubstr("device 0 sends twice"));
}

TEST(CollectiveErrors, MaximumHasNoGradient) {
  const BodyFn fn = [](Graph& g, Parameters p) -> Values {
    const BodyFn f =
        region(line(), spec({{"x"}}), spec({}), [](Value v) { return pmax(v, line(), {"x"}); });
    return gradients(sum(f(g, p)[0]), p);
  };
  EXPECT_THAT(trace_error(fn).message(), HasSubstr("[pmax] cannot be differentiated"));
}

TEST(CollectiveErrors, StandInsideAManualRegion) {
  const BodyFn fn = [](Graph&, Parameters p) -> Values { return {psum(p[0], line(), {"x"})}; };
  const Mesh mesh = line();
  EXPECT_THAT(print_error(fn, &mesh).message(), HasSubstr("[psum] stands outside a manual region"));
}

TEST(ManualRegionErrors, ArePrintedForTheirMeshOnly) {
  const BodyFn fn = region(grid(), spec({{"a"}}), spec({{"a"}}), [](Value v) { return v; });
  const Mesh other = line();
  EXPECT_EQ(print_error(fn, nullptr).message(),
            "[manual_region] was traced for the mesh a=2, b=4 and is printed for one device");
  EXPECT_EQ(print_error(fn, &other).message(),
            "[manual_region] was traced for the mesh a=2, b=4 and is printed for x=8");
}

TEST(ManualRegionErrors, DoNotNest) {
  const BodyFn fn = [](Graph&, Parameters p) -> Values {
    const ManualOptions options{.mesh = grid(), .in = {spec({})}, .out = {spec({})}};
    return manual_region(options, p, [&](Parameters outer) {
      return manual_region(options, outer, [](Parameters inner) -> Values { return {inner[0]}; });
    });
  };
  const Mesh mesh = grid();
  EXPECT_THAT(print_error(fn, &mesh).message(), HasSubstr("cannot stand inside another"));
}

TEST(ConstrainErrors, NameTheRuleTheMeshOrTheDimension) {
  const Mesh mesh = grid();
  const AxisRules rules({{"batch", {"a"}}, {"embed", {"b"}}});
  const auto named = [](std::vector<std::string> names) {
    return [=](Graph&, Parameters p) -> Values { return {constrain(p[0], names)}; };
  };
  EXPECT_TRUE(print_error(named({"batch", "embed"}), &mesh, &rules).ok());
  EXPECT_TRUE(print_error(named({"batch", "embed"}), nullptr).ok());
  EXPECT_THAT(print_error(named({"batch", "embed"}), &mesh).message(),
              HasSubstr("needs axis rules"));
  EXPECT_THAT(print_error(named({"batch", "embd"}), &mesh, &rules).message(), HasSubstr("embed"));
  EXPECT_THAT(trace_error(named({"batch"})).message(),
              HasSubstr("[constrain] names 1 dimensions of a value that has 2"));
  const BodyFn axes = [](Graph&, Parameters p) -> Values {
    return {constrain_axes(p[0], spec({{"q"}}))};
  };
  EXPECT_THAT(print_error(axes, &mesh).message(), HasSubstr("'q'"));
  const BodyFn inside = region(grid(), spec({{"a"}}), spec({{"a"}}),
                               [](Value v) { return constrain_axes(v, spec({{"b"}})); });
  EXPECT_THAT(print_error(inside, &mesh).message(), HasSubstr("inside a manual region"));
}

TEST(Groups, AreDevicesThatDifferOnlyAlongTheAxes) {
  const auto groups = [](std::vector<std::string> axes) {
    return CollectiveAttrs{.mesh = cube(), .axes = std::move(axes)}.groups();
  };
  using Groups = std::vector<std::vector<int64_t>>;
  EXPECT_EQ(groups({"c"}), (Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_EQ(groups({"a"}), (Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(groups({"a", "c"}), (Groups{{0, 1, 4, 5}, {2, 3, 6, 7}}));
  EXPECT_EQ(groups({"c", "a"}), (Groups{{0, 4, 1, 5}, {2, 6, 3, 7}}));
  EXPECT_EQ(groups({"one"}), (Groups{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}}));
}

}  // namespace
}  // namespace tessera::op_testing
