#include <algorithm>
#include <cmath>

#include "tessera/nn/param.h"
#include "tessera/ops/sharding_ops.h"
#include "tessera/pjrt/testing.h"
#include "tests/ops/op_testing.h"

namespace tessera::op_testing {
namespace {

using Parameters = std::span<const Value>;
using Values = std::vector<Value>;

Tree<ParamSpec> specs_of(const std::vector<std::pair<std::string, Init>>& params, Dims dims) {
  Tree<ParamSpec> specs;
  for (const auto& [path, init] : params) {
    CHECK(specs.add(path, ParamSpec{dims, std::vector<std::string>(dims.size()), init}).ok());
  }
  return specs;
}

// The initial values, in the order of the paths.
std::vector<HostArray> initial(const Tree<ParamSpec>& specs, uint64_t seed,
                               const std::optional<Mesh>& mesh = {}) {
  const BodyFn fn = [&](Graph& g, Parameters) {
    Values out;
    for (const auto& [path, value] : initial_params(g, specs, seed))
      out.push_back(mesh ? constrain_axes(value, {{{"x"}}}) : value);
    return out;
  };
  const Result<std::vector<HostArray>> outputs = evaluate(fn, {}, mesh);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? *outputs : std::vector<HostArray>();
}

bool same(const HostArray& a, const HostArray& b) {
  return std::ranges::equal(a.bytes(), b.bytes());
}

TEST(InitialParams, HaveTheMeanDeviationAndCutOfTheirDistribution) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const double stddev = 0.02;
  const auto arrays = initial(specs_of({{"a.kernel", Init::normal(stddev)}}, {512, 512}), 1);
  ASSERT_EQ(arrays.size(), 1u);
  const std::vector<double> values = to_doubles(arrays[0]);
  double sum = 0, squares = 0, largest = 0;
  for (double value : values) {
    sum += value;
    squares += value * value;
    largest = std::max(largest, std::fabs(value));
  }
  const double count = static_cast<double>(values.size());
  // A normal cut at two standard deviations has 0.8796 of its deviation; the errors of mean and
  // deviation over 2^18 draws are 0.002 and 0.001 of it: these bounds are four of them.
  EXPECT_NEAR(sum / count / stddev, 0, 0.008);
  EXPECT_NEAR(std::sqrt(squares / count) / stddev, 0.8796, 0.004);
  EXPECT_LE(largest, 2 * stddev);
  EXPECT_GT(largest, 1.99 * stddev);
}

TEST(InitialParams, AreOnesAndZerosWhereDeclared) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto arrays = initial(specs_of({{"one", Init::ones()}, {"zero", Init::zeros()}}, {3}), 1);
  ASSERT_EQ(arrays.size(), 2u);
  EXPECT_EQ(to_doubles(arrays[0]), (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(to_doubles(arrays[1]), (std::vector<double>{0, 0, 0}));
}

TEST(InitialParams, DependOnSeedAndPathAlone) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const Init normal = Init::normal(1);
  const auto few = initial(specs_of({{"b", normal}}, {8, 3}), 7);
  const auto more = initial(specs_of({{"a", normal}, {"b", normal}, {"c.d", normal}}, {8, 3}), 7);
  const auto other_seed = initial(specs_of({{"b", normal}}, {8, 3}), 8);
  ASSERT_EQ(more.size(), 3u);
  EXPECT_TRUE(same(few[0], more[1]));
  EXPECT_FALSE(same(more[0], more[1]));
  EXPECT_FALSE(same(more[1], more[2]));
  EXPECT_FALSE(same(few[0], other_seed[0]));
}

TEST(InitialParams, AreTheSameBitsOnAMesh) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto specs = specs_of({{"kernel", Init::normal(1)}}, {8, 5});
  const auto one = initial(specs, 3);
  const auto eight = initial(specs, 3, *Mesh::create({{"x", 8}}, 8));
  ASSERT_EQ(eight.size(), 1u);
  EXPECT_TRUE(same(one[0], eight[0]));
}

}  // namespace
}  // namespace tessera::op_testing
