#include <gmock/gmock.h>

#include "tessera/ops/autodiff.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/control.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/indexing.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/shape.h"
#include "tessera/ops/sharding_ops.h"
#include "tessera/pjrt/testing.h"
#include "tessera/stablehlo/module.h"
#include "tests/ops/op_testing.h"

// Manual regions over some of the mesh's axes, the others left to the partitioner.

namespace tessera::op_testing {
namespace {

using ::testing::HasSubstr;
using Parameters = std::span<const Value>;
using Values = std::vector<Value>;
using Doubles = std::vector<double>;

Mesh grid() { return *Mesh::create({{"a", 2}, {"one", 1}, {"b", 4}}, 8); }

PartitionSpec spec(std::vector<std::vector<std::string>> dims) { return {std::move(dims)}; }

std::vector<std::pair<int64_t, int64_t>> ring(int64_t size) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (int64_t i = 0; i < size; ++i) pairs.push_back({i, (i + 1) % size});
  return pairs;
}

void expect_equal(const BodyFn& on_mesh, const BodyFn& plain, std::vector<HostArray> inputs) {
  const auto got = evaluate(on_mesh, inputs, grid());
  ASSERT_TRUE(got.ok()) << got.status();
  const auto expected = evaluate(plain, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  ASSERT_EQ(got->size(), expected->size());
  for (size_t i = 0; i < got->size(); ++i) {
    const Doubles a = to_doubles((*got)[i]), b = to_doubles((*expected)[i]);
    ASSERT_EQ(a.size(), b.size());
    for (size_t k = 0; k < a.size(); ++k) EXPECT_NEAR(a[k], b[k], 1e-12) << i << ", " << k;
  }
}

TEST(PartialRegion, SeesPartsAlongItsAxesAndWholesAlongOthers) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const BodyFn fn = [](Graph&, Parameters p) -> Values {
    const ManualOptions options{
        .mesh = grid(), .in = {spec({{"b"}})}, .out = {spec({{"b"}})}, .axes = {"b"}};
    const Value x = constrain_axes(p[0], spec({{"b"}, {"a"}}));
    return {constrain_axes(manual_region(options, std::span(&x, 1),
                                         [](Parameters local) -> Values {
                                           EXPECT_EQ(to_string(local[0].shape()), "f64[2,6]");
                                           const Value y =
                                               constrain_axes(matmul(local[0], transpose(local[0])),
                                                              spec({{}, {"a"}}));
                                           return {ppermute(y, grid(), "b", ring(4))};
                                         })[0],
                           spec({}))};
  };
  const BodyFn plain = [](Graph&, Parameters p) -> Values {
    const Value x = reshape(p[0], {4, 2, 6});
    const Value y = einsum("bij,bkj->bik", {x, x});
    return {reshape(concatenate({slice_in_dim(y, 0, 3, 4), slice_in_dim(y, 0, 0, 3)}, 0), {8, 2})};
  };
  expect_equal(fn, plain, {random_f64({8, 6})});
}

TEST(PartialRegion, KnowsItsPlace) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const BodyFn fn = [](Graph&, Parameters p) -> Values {
    const ManualOptions options{
        .mesh = grid(), .in = {spec({{"b"}})}, .out = {spec({{"b"}})}, .axes = {"b"}};
    return {constrain_axes(manual_region(options, p,
                                         [](Parameters local) -> Values {
                                           const Value place = axis_index(local[0], grid(), "b");
                                           return {local[0] * 10.0 + convert(place, DType::kF64)};
                                         })[0],
                           spec({}))};
  };
  const BodyFn plain = [](Graph& g, Parameters p) -> Values {
    const Value row = iota(g, {DType::kS32, {4, 2, 6}}, 0);
    return {p[0] * 10.0 + reshape(convert(row, DType::kF64), {8, 6})};
  };
  expect_equal(fn, plain, {random_f64({8, 6})});
}

// A loop with a matmul over an automatic axis and a ring over the manual one, and its gradients.
TEST(PartialRegion, LoopsAndDifferentiates) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto layer = [](Value x, Value w) { return tanh(matmul(x, w)); };
  const BodyFn fn = [&](Graph&, Parameters p) -> Values {
    const ManualOptions options{
        .mesh = grid(), .in = {spec({{"b"}}), spec({})}, .out = {spec({{"b"}})}, .axes = {"b"}};
    const Values args = {constrain_axes(p[0], spec({{"b"}, {"a"}})),
                         constrain_axes(p[1], spec({{"a"}}))};
    const Value y = manual_region(options, args, [&](Parameters local) -> Values {
      const ScanBody body = [&](Parameters carry, Parameters) -> ScanStep {
        const Value x = constrain_axes(layer(carry[0], local[1]), spec({{"a"}}));
        return {.carry = {ppermute(x, grid(), "b", ring(4))}, .ys = {}};
      };
      return {scan(body, local.first(1), {}, {.length = 3}).carry[0]};
    })[0];
    const Value loss = sum(square(y) * p[2]);
    Values out = gradients(loss, p);
    out.push_back(y);
    for (Value& v : out) v = constrain_axes(v, spec({}));
    return out;
  };
  const BodyFn plain = [&](Graph&, Parameters p) -> Values {
    Value y = p[0];
    for (int i = 0; i < 3; ++i) {
      y = layer(y, p[1]);
      y = concatenate({slice_in_dim(y, 0, 6, 8), slice_in_dim(y, 0, 0, 6)}, 0);
    }
    const Value loss = sum(square(y) * p[2]);
    Values out = gradients(loss, p);
    out.push_back(y);
    return out;
  };
  expect_equal(fn, plain,
               {random_f64({8, 6}), random_f64({6, 6}, -1, 1, 1), random_f64({8, 6}, -1, 1, 2)});
}

TEST(PartialRegion, HoldsAnotherOverOtherAxes) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const BodyFn fn = [](Graph&, Parameters p) -> Values {
    const ManualOptions outer{
        .mesh = grid(), .in = {spec({{"b"}})}, .out = {spec({{"b"}})}, .axes = {"b"}};
    const ManualOptions inner{
        .mesh = grid(), .in = {spec({{}, {"a"}})}, .out = {spec({{}, {"a"}})}, .axes = {"a"}};
    const Value y = manual_region(outer, p.first(1), [&](Parameters local) -> Values {
      const Values turned = manual_region(inner, local, [&](Parameters part) -> Values {
        EXPECT_EQ(to_string(part[0].shape()), "f64[2,3]");
        return {sin(ppermute(part[0], grid(), "a", ring(2)))};
      });
      return {ppermute(turned[0], grid(), "b", ring(4)) + local[0]};
    })[0];
    Values out = {gradients(sum(square(y)), p)[0], y};
    for (Value& v : out) v = constrain_axes(v, spec({}));
    return out;
  };
  const BodyFn plain = [](Graph&, Parameters p) -> Values {
    Value y = concatenate({slice_in_dim(p[0], 1, 3, 6), slice_in_dim(p[0], 1, 0, 3)}, 1);
    y = sin(concatenate({slice_in_dim(y, 0, 6, 8), slice_in_dim(y, 0, 0, 6)}, 0)) + p[0];
    return {gradients(sum(square(y)), p)[0], y};
  };
  expect_equal(fn, plain, {random_f64({8, 6})});
}

Status trace_error(const BodyFn& fn) {
  const HostArray x = random_f64({8, 8});
  const auto graph = trace_like(fn, std::span(&x, 1));
  if (!graph.ok()) return graph.status();
  const Mesh mesh = grid();
  return stablehlo::print_module(**graph, {.mesh = &mesh}).status();
}

TEST(PartialRegionErrors, NameTheAxis) {
  const auto region = [](PartitionSpec in, PartitionSpec out, std::vector<std::string> axes,
                         std::function<Value(Value)> body) -> BodyFn {
    return [=](Graph&, Parameters p) -> Values {
      const ManualOptions options{.mesh = grid(), .in = {in}, .out = {out}, .axes = axes};
      return manual_region(options, p,
                           [&](Parameters local) -> Values { return {body(local[0])}; });
    };
  };
  const auto same = [](Value v) { return v; };
  EXPECT_THAT(trace_error(region(spec({{"a"}}), spec({}), {"b"}, same)).message(),
              HasSubstr("names the axis 'a', which is not manual here; manual are b"));
  EXPECT_THAT(trace_error(region(spec({}), spec({{"a"}}), {"b"}, same)).message(),
              HasSubstr("names the axis 'a', which is not manual here"));
  EXPECT_THAT(trace_error(region(spec({}), spec({}), {"c"}, same)).message(),
              HasSubstr("the mesh has no axis 'c'"));
  EXPECT_THAT(trace_error(region(spec({}), spec({}), {"one"}, same)).message(),
              HasSubstr("none of one is larger than one"));
  EXPECT_THAT(trace_error(region(spec({{"b"}}), spec({{"b"}}), {"b"},
                                 [](Value v) {
                                   return constrain_axes(v, spec({{}, {"b"}}));
                                 }))
                  .message(),
              HasSubstr("inside a manual region over b"));
}

}  // namespace
}  // namespace tessera::op_testing
