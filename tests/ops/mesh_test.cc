#include <gtest/gtest.h>

#include "tessera/ops/autodiff.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/indexing.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/random.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/sharding_ops.h"
#include "tessera/ops/sort.h"
#include "tessera/pjrt/testing.h"
#include "tests/ops/op_testing.h"

// Ops whose operands or results the partitioner splits over 8 devices: the values stay the same.

namespace tessera::op_testing {
namespace {

using Parameters = std::span<const Value>;
using Values = std::vector<Value>;
using Axes = std::vector<std::vector<std::string>>;

Mesh grid() { return *Mesh::create({{"a", 2}, {"b", 4}}, 8); }

Value split_over(Value x, Axes axes) { return constrain_axes(x, PartitionSpec{std::move(axes)}); }

// Runs `fn` on one device and on the grid; its results are made whole again there.
void expect_same_on_grid(const BodyFn& fn, std::span<const HostArray> inputs,
                         double tolerance = 0) {
  const auto alone = evaluate(fn, inputs);
  ASSERT_TRUE(alone.ok()) << alone.status();
  const BodyFn joined = [&](Graph& graph, Parameters p) {
    Values outputs = fn(graph, p);
    for (Value& output : outputs) output = split_over(output, {});
    return outputs;
  };
  const auto together = evaluate(joined, inputs, grid());
  ASSERT_TRUE(together.ok()) << together.status();
  ASSERT_EQ(alone->size(), together->size());
  for (size_t i = 0; i < alone->size(); ++i) {
    const std::vector<double> a = to_doubles((*alone)[i]), b = to_doubles((*together)[i]);
    ASSERT_EQ(a.size(), b.size());
    for (size_t j = 0; j < a.size(); ++j) EXPECT_NEAR(a[j], b[j], tolerance) << i << ", " << j;
  }
}

const std::vector<Axes>& layouts() {
  static const std::vector<Axes> kAll = {
      {{"a"}, {"b"}}, {{"b"}, {"a"}}, {{"a", "b"}}, {{}, {"b"}}, {{}, {"b", "a"}}};
  return kAll;
}

TEST(OnAMesh, RandomBitsAreTheSameHoweverTheyAreSplit) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const BodyFn fn = [](Graph& graph, Parameters) -> Values {
    const Value key = random_key(graph, 42);
    const Dims dims = {16, 24};
    Values outputs;
    for (const Axes& axes : layouts()) {
      outputs.push_back(split_over(random_bits(key, dims), axes));
      outputs.push_back(split_over(normal(key, {DType::kF64, dims}), axes));
    }
    return outputs;
  };
  expect_same_on_grid(fn, {});
}

// An embedding whose table is split by rows, by columns, by both; and the gradient of the table.
TEST(OnAMesh, TakeAndItsGradientReadASplitTable) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const std::vector<int32_t> numbers = {3, 0, 15, 3, 7, 8, 9, 15, 15, 1, 2, 4};
  const std::vector<HostArray> inputs = {
      random_f64({16, 8}), HostArray::from(DType::kS32, {4, 3}, std::span<const int32_t>(numbers))};
  const BodyFn fn = [](Graph&, Parameters p) -> Values {
    Values outputs;
    for (const Axes& axes : layouts()) {
      const Value table = split_over(p[0], axes);
      const Value taken = split_over(take(table, split_over(p[1], {{"a"}})), {{"a"}});
      const Value grad = gradients(sum(square(taken)), std::span(&p[0], 1))[0];
      outputs.push_back(taken);
      outputs.push_back(split_over(grad, axes));
    }
    return outputs;
  };
  expect_same_on_grid(fn, inputs, 1e-12);
}

TEST(OnAMesh, TakeAlongASplitDimGivesTheSame) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const std::vector<int32_t> numbers = {3, 0, 15, 3, 7, 8, 9, 15};
  const std::vector<HostArray> inputs = {
      random_f64({8, 16}), HostArray::from(DType::kS32, {8, 1}, std::span<const int32_t>(numbers))};
  const BodyFn fn = [](Graph&, Parameters p) -> Values {
    Values outputs;
    for (const Axes& axes : layouts()) {
      const Value taken = take_along_dim(split_over(p[0], axes), p[1], 1);
      outputs.push_back(taken);
      outputs.push_back(gradients(sum(square(taken)), std::span(&p[0], 1))[0]);
    }
    return outputs;
  };
  expect_same_on_grid(fn, inputs, 1e-12);
}

TEST(OnAMesh, ProductsAndSortsOfSplitOperandsGiveTheSame) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const std::vector<HostArray> inputs = {random_f64({8, 16}), random_f64({16, 8}, -1, 1, 1)};
  const BodyFn fn = [](Graph&, Parameters p) -> Values {
    Values outputs;
    for (const Axes& axes : layouts()) {
      const Value x = split_over(p[0], axes);
      outputs.push_back(matmul(x, split_over(p[1], {{"b"}, {"a"}})));
      outputs.push_back(sort(x));
      outputs.push_back(top_k(x, 3).values);
    }
    return outputs;
  };
  expect_same_on_grid(fn, inputs, 1e-12);
}

}  // namespace
}  // namespace tessera::op_testing
