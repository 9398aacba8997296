#include "tessera/ir/graph.h"

#include <gmock/gmock.h>

#include "tessera/ir/op.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

// The smallest ops that a graph can be tested with.
std::vector<Shape> infer_join(const InferContext& context) {
  if (context.operands.size() == 2 && context.operands[0] != context.operands[1])
    fail("shapes differ");
  return {context.operands[0]};
}
std::vector<Shape> infer_body(const InferContext& context) {
  std::vector<Shape> shapes;
  for (ValueId id : context.regions[0]->outputs()) shapes.push_back(context.regions[0]->shape(id));
  return shapes;
}
const OpDef kJoin = {.name = "join", .infer = infer_join};
const OpDef kBody = {.name = "body", .infer = infer_body};

const Shape kThree{DType::kF32, {3}};
const Shape kFour{DType::kF32, {4}};

Value join(Value a, Value b) { return apply(kJoin, {a, b}); }

// A node with a body over no arguments of its own: its operands are the captures.
std::vector<Value> add_body(Graph& parent, const BodyFn& build) {
  const auto body = trace_body(parent, {}, build);
  return parent.add(kBody, body->captures(), {}, {body});
}

Status trace_error(const std::function<void(Graph&)>& build) {
  const auto graph = trace({}, [&](Graph& g, std::span<const Value>) {
    build(g);
    return std::vector<Value>{};
  });
  return graph.status();
}

TEST(Graph, HoldsNodesInTheOrderOfTheirCreation) {
  Graph g;
  const Value a = g.parameter(kThree, "a"), b = g.parameter(kThree, "b");
  const Value c = join(a, b);
  EXPECT_EQ(g.size(), 3);
  EXPECT_EQ(c.id(), (ValueId{2, 0}));
  EXPECT_EQ(g.node(2).op, &kJoin);
  EXPECT_EQ(g.node(2).operands, (std::vector<ValueId>{a.id(), b.id()}));
  EXPECT_EQ(g.parameter_name(1), "b");
  EXPECT_EQ(c.shape(), kThree);
  EXPECT_EQ(c.dim(-1), 3);
  EXPECT_TRUE(c.same_as(g.value({2, 0})));
  EXPECT_FALSE(c.same_as(a));
}

TEST(Graph, NamesOpShapesAndScopeInErrors) {
  const Status status = trace_error([](Graph& g) {
    const auto layers = g.scope("layers");
    const auto mlp = g.scope("mlp");
    join(g.parameter(kThree), g.parameter(kFour));
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "[join] shapes differ; operands f32[3], f32[4] (layers.mlp)");
}

TEST(Graph, SaysWhichOpGotAnUndefinedOperand) {
  const Status status = trace_error([](Graph& g) {
    const Value operands[] = {g.parameter(kThree), Value()};
    g.add(kJoin, operands);
  });
  EXPECT_EQ(status.message(), "[join] an operand is undefined");
  EXPECT_THAT(trace_error([](Graph&) { join(Value(), Value()); }).message(),
              HasSubstr("undefined"));
}

TEST(Graph, OpsWithoutOperandsAreAnErrorWhereAGraphIsNeeded) {
  const Status status = trace_error([](Graph&) { apply(kJoin, {}); });
  EXPECT_THAT(status.message(), HasSubstr("at least one"));
}

TEST(Scopes, JoinWithDotsAndEndWithTheirGuard) {
  Graph g;
  EXPECT_EQ(g.current_scope(), "");
  {
    const auto outer = g.scope("layers");
    const Value a = g.parameter(kThree);
    {
      const auto inner = g.scope("attention");
      EXPECT_EQ(g.current_scope(), "layers.attention");
      join(a, a);
    }
    EXPECT_EQ(g.current_scope(), "layers");
    EXPECT_EQ(g.scope_name(g.node(0).scope), "layers");
    EXPECT_EQ(g.scope_name(g.node(1).scope), "layers.attention");
  }
  EXPECT_EQ(g.current_scope(), "");
  const auto again = g.scope_of(g.node(1));
  EXPECT_EQ(g.current_scope(), "layers.attention");
}

TEST(Scopes, ReachIntoBodies) {
  Graph g;
  const Value a = g.parameter(kThree);
  const auto scope = g.scope("layers");
  std::string inside;
  add_body(g, [&](Graph& body, std::span<const Value>) {
    const auto deeper = body.scope("mlp");
    inside = body.current_scope();
    return std::vector{join(a, a)};
  });
  EXPECT_EQ(inside, "layers.mlp");
  EXPECT_EQ(g.current_scope(), "layers");
}

TEST(Scopes, AreKeptByCopies) {
  Graph g;
  const Value a = g.parameter(kThree);
  const auto body = trace_body(g, std::span(&kThree, 1), [](Graph& graph, auto parameters) {
    const auto scope = graph.scope("inner");
    return std::vector{join(parameters[0], parameters[0])};
  });
  const auto outer = g.scope("outer");
  const Value copy = inline_graph(*body, g, std::span(&a, 1))[0];
  EXPECT_EQ(g.scope_name(g.node(copy.id().node).scope), "inner");
  EXPECT_EQ(g.current_scope(), "outer");
}

TEST(Captures, BecomeParametersAndOperandsOnce) {
  Graph g;
  const Value a = g.parameter(kThree), b = g.parameter(kThree);
  const std::vector<Value> out = add_body(g, [&](Graph&, std::span<const Value>) {
    // Nothing here belongs to the body until an op of it uses a value: return them.
    return std::vector{b, a, b};
  });
  const Node& node = g.node(out[0].id().node);
  const Graph& body = *node.regions[0];
  EXPECT_EQ(node.operands, (std::vector<ValueId>{b.id(), a.id()}));
  EXPECT_EQ(body.parameters().size(), 2u);
  EXPECT_EQ(body.outputs()[0], body.outputs()[2]);
  EXPECT_EQ(body.depth(), 1);
}

TEST(Captures, PassThroughEveryLevelBetween) {
  Graph g;
  const Value a = g.parameter(kThree);
  const std::vector<Value> out = add_body(g, [&](Graph& middle, std::span<const Value>) {
    return add_body(middle, [&](Graph& inner, std::span<const Value>) {
      EXPECT_EQ(inner.depth(), 2);
      return std::vector{inner.import(a)};
    });
  });
  const Node& outer_node = g.node(out[0].id().node);
  EXPECT_EQ(outer_node.operands, (std::vector<ValueId>{a.id()}));
  const Graph& middle = *outer_node.regions[0];
  EXPECT_EQ(middle.parameters().size(), 1u);
  EXPECT_EQ(middle.node(middle.outputs()[0].node).operands, middle.parameters());
}

TEST(Captures, OpsGoToTheInnermostGraph) {
  Graph g;
  const Value a = g.parameter(kThree);
  add_body(g, [&](Graph& body, std::span<const Value>) {
    const Value inside = body.import(a);
    EXPECT_EQ(&join(a, inside).graph(), &body);
    EXPECT_EQ(&join(inside, a).graph(), &body);
    EXPECT_EQ(&join(a, a).graph(), &g);  // what needs nothing of the body stands outside
    return std::vector{inside};
  });
}

TEST(Captures, ValuesOfOtherProgramsAndFinishedBodiesAreErrors) {
  Graph other;
  const Value stranger = other.parameter(kThree);
  EXPECT_THAT(trace_error([&](Graph& g) { join(g.parameter(kThree), stranger); }).message(),
              HasSubstr("return it from the region"));
  const Status finished = trace_error([&](Graph& g) {
    const Value a = g.parameter(kThree);
    Value leaked;
    add_body(g, [&](Graph& body, std::span<const Value>) {
      leaked = body.import(a);
      return std::vector{leaked};
    });
    g.set_outputs({leaked});
  });
  EXPECT_THAT(finished.message(), HasSubstr("finished region"));
}

TEST(Copies, PutArgumentsInThePlaceOfParameters) {
  Graph g;
  const Value a = g.parameter(kThree), b = g.parameter(kThree);
  const std::vector<Shape> shapes = {kThree, kThree};
  const auto body = trace_body(g, shapes, [](Graph&, std::span<const Value> p) {
    const Value c = join(p[0], p[1]);
    return std::vector{join(c, p[0]), p[1]};
  });
  const std::vector<Value> arguments = {b, a};
  const int32_t before = g.size();
  const std::vector<Value> out = inline_graph(*body, g, arguments);
  EXPECT_EQ(g.size(), before + 2);
  EXPECT_EQ(g.node(before).operands, (std::vector<ValueId>{b.id(), a.id()}));
  EXPECT_TRUE(out[1].same_as(a));
}

TEST(Copies, LeaveOutReplacedNodes) {
  Graph g;
  const Value a = g.parameter(kThree);
  const auto body = trace_body(g, std::span(&kThree, 1), [](Graph&, std::span<const Value> p) {
    const Value c = join(p[0], p[0]);
    return std::vector{join(c, p[0])};
  });
  const GraphCopy copy = copy_graph(*body, g, std::span(&a, 1), {{1, {a}}});
  EXPECT_EQ(g.node(copy.outputs[0].id().node).operands, (std::vector<ValueId>{a.id(), a.id()}));
}

TEST(Nodes, GrowNewOutputs) {
  Graph g;
  const Value a = g.parameter(kThree);
  const std::vector<Value> out =
      add_body(g, [&](Graph& body, std::span<const Value>) { return std::vector{body.import(a)}; });
  const int32_t index = out[0].id().node;
  const auto regions = g.node(index).regions;
  g.extend_node(index, {}, regions, {kFour});
  EXPECT_EQ(g.value({index, 0}).shape(), kThree);
  EXPECT_EQ(g.value({index, 1}).shape(), kFour);
}

TEST(Trace, GivesTheGraphOrTheStatus) {
  const std::vector<NamedShape> parameters = {{"x", kThree}, {"y", kThree}};
  const auto graph = trace(
      parameters, [](Graph&, std::span<const Value> p) { return std::vector{join(p[0], p[1])}; });
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ((*graph)->parameter_name(1), "y");
  EXPECT_EQ((*graph)->outputs(), (std::vector<ValueId>{{2, 0}}));
  const auto failed = trace(parameters, [](Graph&, std::span<const Value>) -> std::vector<Value> {
    throw TraceError(not_found("no such thing"));
  });
  EXPECT_EQ(failed.status().code(), absl::StatusCode::kNotFound);
}

TEST(Trace, NumbersAreUniqueInTheWholeProgram) {
  Graph g;
  Graph body(&g);
  EXPECT_NE(g.next_unique(), body.next_unique());
}

// A copy of a body outlives the graph that the body was made in; the copy must not look there.
TEST(Trace, BodiesMayOutliveTheirParent) {
  Graph g;
  std::shared_ptr<Graph> body;
  {
    Graph temporary(&g);
    body = trace_body(temporary, std::span(&kThree, 1), [](Graph&, std::span<const Value> p) {
      return std::vector{join(p[0], p[0])};
    });
  }
  EXPECT_EQ(body->depth(), 2);
  EXPECT_EQ(body->scope_name(0), "");
}

}  // namespace
}  // namespace tessera
