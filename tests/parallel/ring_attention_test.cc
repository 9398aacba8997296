#include <gmock/gmock.h>

#include "tessera/nn/attention.h"
#include "tessera/ops/autodiff.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/control.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/indexing.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/shape.h"
#include "tessera/ops/sharding_ops.h"
#include "tessera/pjrt/testing.h"
#include "tests/ops/op_testing.h"

// Ring attention in f64 on 8 devices against plain attention on one.

namespace tessera::op_testing {
namespace {

using ::testing::HasSubstr;
using Parameters = std::span<const Value>;
using Values = std::vector<Value>;
using Doubles = std::vector<double>;

struct Case {
  std::vector<MeshAxis> axes;
  bool balanced = false;
  bool segments = false;
  int64_t kv_heads = 2;
};

std::string name_of(const Case& c) {
  return str_cat(to_string(*Mesh::create(c.axes, 8)), c.balanced ? ", balanced" : "",
                 c.segments ? ", segments" : "", ", kv heads ", c.kv_heads);
}

AxisRules rules() {
  return AxisRules({{"activation_kv_batch", {"data", "fsdp"}},
                    {"activation_length_attn", {"context"}},
                    {"activation_kv_heads", {"tensor"}},
                    {"activation_kv_head_dim", {}}});
}

Mesh mesh_of(const Case& c) {
  std::vector<MeshAxis> axes = c.axes;
  for (const char* name : {"data", "fsdp", "context", "tensor"}) {
    bool has = false;
    for (const MeshAxis& axis : axes) has |= axis.name == name;
    if (!has) axes.push_back({name, 1});
  }
  return *Mesh::create(axes, 8);
}

constexpr int64_t kBatch = 4, kLength = 16, kHeads = 4, kWidth = 2;

std::vector<HostArray> inputs(const Case& c) {
  std::vector<int32_t> ids;
  for (int64_t b = 0; b < kBatch; ++b) {
    for (int64_t t = 0; t < kLength; ++t)
      ids.push_back(static_cast<int32_t>(t < 3 + 2 * b ? 7 : (t < 12 ? 1 : 2)));
  }
  return {random_f64({kBatch, kLength, kHeads, kWidth}, -2, 2),
          random_f64({kBatch, kLength, c.kv_heads, kWidth}, -2, 2, 1),
          random_f64({kBatch, kLength, c.kv_heads, kWidth}, -2, 2, 2),
          random_f64({kBatch, kLength, kHeads, kWidth}, -1, 1, 3),
          HostArray::from<int32_t>(DType::kS32, {kBatch, kLength}, ids)};
}

// The result and the gradients of q, k and v.
Values with_gradients(Value y, Parameters p) {
  Values out = gradients(sum(sin(y) * p[3]), p.first(3));
  out.push_back(y);
  return out;
}

// The way back from the balanced order.
Value restore(Value x, int64_t devices, int dim) {
  const Value places =
      balance_causal_order(iota(x.graph(), Shape{DType::kS32, {x.dim(dim)}}, 0), devices, 0);
  return scatter_add(zeros_like(x), places, x, dim);
}

BodyFn on_ring(const Case& c, bool remat = false) {
  const Mesh mesh = mesh_of(c);
  const AttentionOptions options{.strategy = ContextStrategy::kRing,
                                 .load_balanced = c.balanced,
                                 .mesh = mesh,
                                 .rules = rules()};
  return [=](Graph&, Parameters p) -> Values {
    const int64_t devices = mesh.axis_size("context");
    const auto ordered = [&](Value x) {
      return c.balanced ? balance_causal_order(x, devices, 1) : x;
    };
    const Branch attention = [&](Parameters x) -> Values {
      return {ring_attention(x[0], x[1], x[2], c.segments ? ordered(p[4]) : Value(), options)};
    };
    const Values qkv = {ordered(p[0]), ordered(p[1]), ordered(p[2])};
    const Value mixed = remat ? checkpoint(attention, qkv)[0] : attention(qkv)[0];
    Values out = with_gradients(c.balanced ? restore(mixed, devices, 1) : mixed, p);
    for (Value& value : out) value = constrain_axes(value, {});
    return out;
  };
}

BodyFn plain(const Case& c) {
  return [=](Graph&, Parameters p) -> Values {
    const SequenceContext sequence{.rotary = {}, .segment_ids_BT = c.segments ? p[4] : Value()};
    return with_gradients(causal_attention(p[0], p[1], p[2], sequence), p);
  };
}

void expect_plain(const Case& c, bool remat = false) {
  SCOPED_TRACE(name_of(c));
  const auto got = evaluate(on_ring(c, remat), inputs(c), mesh_of(c));
  ASSERT_TRUE(got.ok()) << got.status();
  const auto expected = evaluate(plain(c), inputs(c));
  ASSERT_TRUE(expected.ok()) << expected.status();
  for (size_t i = 0; i < expected->size(); ++i) {
    const Doubles a = to_doubles((*got)[i]), b = to_doubles((*expected)[i]);
    ASSERT_EQ(a.size(), b.size());
    for (size_t k = 0; k < a.size(); ++k) ASSERT_NEAR(a[k], b[k], 1e-12) << i << ", " << k;
  }
}

TEST(RingAttention, IsPlainAttentionWithItsGradients) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  expect_plain({{{"context", 8}}, /*balanced=*/true, /*segments=*/true});
  expect_plain({{{"fsdp", 2}, {"context", 4}}, /*balanced=*/true, /*segments=*/false});
  expect_plain({{{"fsdp", 2}, {"context", 4}}, /*balanced=*/false, /*segments=*/true});
  expect_plain({{{"data", 2}, {"context", 2}, {"tensor", 2}}, /*balanced=*/false});
}

TEST(RingAttention, KeepsHeadsTogetherThatTheMeshDoesNotDivide) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  expect_plain({{{"context", 2}, {"tensor", 4}}, true, true, 2});
  expect_plain({{{"context", 4}, {"tensor", 2}}, false, false, 1});
}

TEST(RingAttention, CanBeRematerialized) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  expect_plain({{{"fsdp", 2}, {"context", 4}}, true, true}, /*remat=*/true);
}

TEST(RingAttention, HasTheGradientOfFiniteDifferences) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  for (const bool balanced : {false, true}) {
    const Case c{{{"context", 8}}, balanced, true};
    const Mesh mesh = mesh_of(c);
    const AttentionOptions options{.strategy = ContextStrategy::kRing,
                                   .load_balanced = balanced,
                                   .mesh = mesh,
                                   .rules = rules()};
    check_gradient(
        {.name = balanced ? "balanced" : "in_order",
         .fn = [=](Graph&, Parameters p) -> Values {
           return {constrain_axes(ring_attention(p[0], p[1], p[2], p[3], options), {})};
         },
         .inputs = {random_f64({1, 16, 2, 2}), random_f64({1, 16, 1, 2}, -1, 1, 1),
                    random_f64({1, 16, 1, 2}, -1, 1, 2),
                    HostArray::from<int32_t>(
                        DType::kS32, {1, 16},
                        std::vector<int32_t>{0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2})},
         .options = {.second_order = false},
         .mesh = mesh});
  }
}

TEST(BalanceCausalOrder, GivesEachDeviceAnEarlyAndALateChunk) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  std::vector<int32_t> places(12);
  for (int i = 0; i < 12; ++i) places[i] = i;
  const BodyFn fn = [](Graph&, Parameters p) -> Values {
    return {balance_causal_order(p[0], 3, 0)};
  };
  const auto out = evaluate(fn, std::vector{HostArray::from<int32_t>(
                                    DType::kS32, {12}, std::span<const int32_t>(places))});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(to_doubles((*out)[0]), (Doubles{0, 1, 10, 11, 2, 3, 8, 9, 4, 5, 6, 7}));
}

TEST(RingAttentionErrors, SayWhatDoesNotFit) {
  const auto error = [](int64_t length, const AttentionOptions& options) {
    const std::vector<HostArray> x = {random_f64({1, length, 2, 2})};
    return trace_like(
               [&](Graph&, Parameters p) -> Values {
                 return {ring_attention(p[0], p[0], p[0], {}, options)};
               },
               x)
        .status();
  };
  AttentionOptions options{.strategy = ContextStrategy::kRing, .rules = rules()};
  EXPECT_THAT(error(8, options).message(), HasSubstr("needs a mesh whose axis context"));
  options.mesh = mesh_of({{{"context", 8}}});
  EXPECT_THAT(error(12, options).message(), HasSubstr("12 positions cannot be cut into 8 chunks"));
  options.load_balanced = true;
  EXPECT_THAT(error(8, options).message(), HasSubstr("8 positions cannot be cut into 16 chunks"));
}

}  // namespace
}  // namespace tessera::op_testing
