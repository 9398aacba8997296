// What must be true of every op there is, so that a new one cannot be forgotten anywhere.
#include <gtest/gtest.h>

#include <set>

#include "tessera/ops/registry.h"
#include "tessera/stablehlo/emitter.h"
#include "tests/ops/op_testing.h"

namespace tessera::op_testing {
namespace {

TEST(OpTable, NamesAreUnique) {
  std::set<std::string_view> names;
  for (const OpDef* op : all_ops()) {
    EXPECT_FALSE(op->name.empty());
    EXPECT_TRUE(names.insert(op->name).second) << op->name << " names two ops";
  }
  EXPECT_GT(names.size(), 60u);
}

TEST(OpTable, EachOpHasAShapeRule) {
  for (const OpDef* op : all_ops()) EXPECT_NE(op->infer, nullptr) << op->name;
}

TEST(OpTable, EachOpHasAGradientOrSaysWhyNot) {
  for (const OpDef* op : all_ops()) {
    if (op->vjp != nullptr) {
      EXPECT_FALSE(op->zero_gradient) << op->name << " has a gradient and says that it is zero";
      EXPECT_TRUE(op->no_gradient.empty())
          << op->name << " has a gradient and says why it has none";
    } else {
      EXPECT_FALSE(op->no_gradient.empty()) << op->name << " has no gradient and does not say why";
    }
  }
}

TEST(OpTable, EachOpHasAnEmitter) {
  std::set<const OpDef*> known;
  for (const OpDef* op : all_ops()) {
    known.insert(op);
    EXPECT_TRUE(stablehlo::emitters().contains(op)) << op->name;
  }
  for (const auto& [op, emitter] : stablehlo::emitters()) {
    EXPECT_TRUE(known.contains(op)) << op->name << " has an emitter, but is in no family's list";
  }
}

TEST(OpTable, EachGradientIsChecked) {
  std::set<std::string_view> checked;
  for (const GradientFamily& family : gradient_families()) {
    for (const GradientCase& c : family.make()) {
      const auto graph = trace_like(c.fn, c.inputs);
      ASSERT_TRUE(graph.ok()) << family.name << ", " << c.name << ": " << graph.status();
      checked.merge(differentiated_ops(**graph));
    }
  }
  for (const OpDef* op : all_ops()) {
    if (op->vjp == nullptr) continue;
    EXPECT_TRUE(checked.contains(op->name))
        << "no gradient case goes through " << op->name << ": add one with add_gradient_cases()";
  }
}

}  // namespace
}  // namespace tessera::op_testing
