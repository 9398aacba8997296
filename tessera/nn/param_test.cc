#include "tessera/nn/param.h"

#include <gmock/gmock.h>

#include "tessera/ir/op.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;

// One constructor, two phases.
struct Layer {
  Param kernel, scale;
  explicit Layer(const Scope& scope)
      : kernel(scope.child("up").param("kernel", {4, 8}, {"embed", "mlp"}, Init::normal(0.5))),
        scale(scope.param("scale", {4}, {"norm"}, Init::ones())) {}
};

TEST(Scope, DeclaresPathsDimsAndNames) {
  Tree<ParamSpec> specs;
  const Scope scope = Scope::declare(specs);
  EXPECT_TRUE(scope.declares());
  const Layer layer(scope.child("mlp"));
  EXPECT_FALSE(Value(layer.kernel).defined());
  ASSERT_EQ(specs.size(), 2u);
  EXPECT_EQ(specs[0].first, "mlp.up.kernel");
  EXPECT_EQ(to_string(specs[0].second.shape()), "f32[4,8]");
  EXPECT_THAT(specs[0].second.names, ElementsAre("embed", "mlp"));
  EXPECT_EQ(specs[0].second.init.stddev, 0.5);
  EXPECT_EQ(specs[1].first, "mlp.scale");
  EXPECT_EQ(specs[1].second.init.kind, Init::Kind::kOnes);
  EXPECT_EQ(count_params(specs), 36);
}

TEST(Scope, StacksLayersInALeadingDimension) {
  Tree<ParamSpec> specs;
  const Layer layer(Scope::declare(specs).stacked("layers", 3));
  const ParamSpec& kernel = specs.at("layers.up.kernel");
  EXPECT_EQ(to_string(kernel.shape()), "f32[3,4,8]");
  EXPECT_THAT(kernel.names, ElementsAre("layers", "embed", "mlp"));
  EXPECT_EQ(count_params(specs), 108);
}

TEST(Scope, BindsValuesInTheComputeDType) {
  Graph g;
  Tree<Value> values;
  ASSERT_TRUE(values.add("up.kernel", g.parameter({DType::kF32, {4, 8}})).ok());
  ASSERT_TRUE(values.add("scale", g.parameter({DType::kF32, {4}})).ok());
  const Scope bound = Scope::bind(values, DType::kBF16);
  EXPECT_FALSE(bound.declares());
  const Layer narrow(bound);
  EXPECT_EQ(to_string(Value(narrow.kernel).shape()), "bf16[4,8]");
  const Layer wide(Scope::bind(values, DType::kF32));
  EXPECT_EQ(to_string(Value(wide.scale).shape()), "f32[4]");
}

TEST(ScopeDeathTest, ChecksTheDimsOfABoundParameter) {
  Graph g;
  Tree<Value> values;
  ASSERT_TRUE(values.add("up.kernel", g.parameter({DType::kF32, {4, 9}})).ok());
  EXPECT_DEATH(Layer(Scope::bind(values, DType::kF32)), "up.kernel is f32\\[4,9\\], not \\[4,8\\]");
}

}  // namespace
}  // namespace tessera
