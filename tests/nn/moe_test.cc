#include "tessera/nn/moe.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tessera/ops/elementwise.h"
#include "tessera/ops/reduce.h"
#include "tessera/pjrt/testing.h"
#include "tests/ops/op_testing.h"

// The mixture of experts against plain loops in double, and its gradients against finite
// differences.

namespace tessera::op_testing {
namespace {

using Parameters = std::span<const Value>;
using Values = std::vector<Value>;
using Doubles = std::vector<double>;

struct Sizes {
  int64_t batch = 2, length = 32, embed = 3, mlp = 4;
};

MoeConfig config_of(const Sizes& s, int64_t experts, int64_t experts_per_token) {
  return {.embed = s.embed,
          .mlp = s.mlp,
          .experts = experts,
          .experts_per_token = experts_per_token,
          .capacity_factor = {},
          .init = {},
          .output_init = {}};
}

// x, router, gate, up, down, text, counted. `bias`: how much more the router likes expert 0 than
// the next, and so on.
std::vector<HostArray> inputs_of(const Sizes& s, const MoeConfig& c, double bias) {
  HostArray x = random_f64({s.batch, s.length, s.embed}, -1, 1, 1);
  HostArray router = random_f64({s.embed, c.experts}, -1, 1, 2);
  // The stream's first element is one everywhere, so that its weights are biases.
  for (int64_t i = 0; i < s.batch * s.length; ++i) x.as<double>()[i * s.embed] = 1;
  for (int64_t e = 0; e < c.experts; ++e) router.as<double>()[e] -= bias * static_cast<double>(e);
  const Doubles ones(s.batch * s.length, 1);
  const HostArray all = from_doubles({DType::kS32, {s.batch, s.length}}, ones);
  return {x,
          router,
          random_f64({c.experts, s.embed, s.mlp}, -1, 1, 3),
          random_f64({c.experts, s.embed, s.mlp}, -1, 1, 4),
          random_f64({c.experts, s.mlp, s.embed}, -1, 1, 5),
          all,
          all};
}

// Marks row 0's last `padding` positions as padding, and every third token of row 1 as one that
// does not count.
void mask(std::vector<HostArray>& inputs, int64_t padding) {
  const int64_t length = inputs[5].shape().dims[1];
  for (int64_t t = length - padding; t < length; ++t) inputs[5].as<int32_t>()[t] = 0;
  for (int64_t t = 0; t < length; t += 3) inputs[6].as<int32_t>()[length + t] = 0;
}

BodyFn moe_fn(MoeConfig config) {
  return [config](Graph&, Parameters p) -> Values {
    Tree<Value> params;
    const char* names[] = {"router.kernel", "gate.kernel", "up.kernel", "down.kernel"};
    for (int i = 0; i < 4; ++i) CHECK(params.add(names[i], p[i + 1]).ok());
    const Moe moe(Scope::bind(params, p[0].dtype()), config);
    const LayerOutput output = moe(p[0], {.text_BT = not_equal(p[5], 0),
                                          .counted_BT = not_equal(p[6], 0),
                                          .order_T = p.size() > 7 ? p[7] : Value()});
    return {output.x, output.sums};
  };
}

// ---- plain loops

struct Host {
  const MoeConfig& c;
  Sizes s;
  Doubles x, router, gate, up, down, text, counted;
  Doubles y, sums;

  Host(const MoeConfig& config, const std::vector<HostArray>& in)
      : c(config),
        x(to_doubles(in[0])),
        router(to_doubles(in[1])),
        gate(to_doubles(in[2])),
        up(to_doubles(in[3])),
        down(to_doubles(in[4])),
        text(to_doubles(in[5])),
        counted(to_doubles(in[6])) {
    const Dims& dims = in[0].shape().dims;
    s = {dims[0], dims[1], dims[2], c.mlp};
    y.resize(x.size());
    sums.resize(3 + c.experts);
    for (int64_t b = 0; b < s.batch; ++b) row(b);
  }

  struct Assignment {
    int64_t t;
    int64_t expert;
    double weight;
  };

  void row(int64_t b) {
    Doubles load(c.experts), probability(c.experts);
    double tokens = 0, z = 0;
    std::vector<Assignment> all;
    for (int64_t t = 0; t < s.length; ++t) {
      const int64_t at = b * s.length + t;
      Doubles p(c.experts);
      for (int64_t e = 0; e < c.experts; ++e)
        for (int64_t d = 0; d < s.embed; ++d)
          p[e] += x[at * s.embed + d] * router[d * c.experts + e];
      double total = 0;
      for (double& value : p) total += value = std::exp(value);
      for (double& value : p) value /= total;
      std::vector<int64_t> order(c.experts);
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(),
                       [&](int64_t i, int64_t j) { return p[i] > p[j]; });
      double chosen = 0;
      for (int64_t k = 0; k < c.experts_per_token; ++k) chosen += p[order[k]];
      const bool counts = text[at] != 0 && counted[at] != 0;
      if (counts) {
        ++tokens;
        z += std::log(total) * std::log(total);
        for (int64_t e = 0; e < c.experts; ++e) probability[e] += p[e];
        for (int64_t k = 0; k < c.experts_per_token; ++k) ++load[order[k]];
      }
      if (text[at] == 0) continue;
      for (int64_t k = 0; k < c.experts_per_token; ++k)
        all.push_back({t, order[k], p[order[k]] / chosen});
    }
    if (tokens > 0) {
      for (int64_t e = 0; e < c.experts; ++e) {
        sums[kBalanceSum] +=
            static_cast<double>(c.experts) * load[e] * probability[e] / tokens / tokens;
        sums[kLoadSums + e] += load[e];
      }
      sums[kZSum] += z / tokens;
    }
    serve(b, all);
  }

  void serve(int64_t b, std::vector<Assignment> all) {
    if (c.drop_policy == DropPolicy::kWeight) {
      std::stable_sort(all.begin(), all.end(),
                       [](const auto& i, const auto& j) { return i.weight > j.weight; });
    }
    const int64_t capacity =
        c.capacity_factor
            ? static_cast<int64_t>(std::ceil(*c.capacity_factor *
                                             static_cast<double>(s.length * c.experts_per_token) /
                                             static_cast<double>(c.experts)))
            : s.length;
    std::vector<int64_t> taken(c.experts);
    for (const Assignment& a : all) {
      const int64_t at = b * s.length + a.t;
      if (taken[a.expert]++ >= capacity) {
        if (counted[at] != 0) ++sums[kDroppedSum];
        continue;
      }
      for (int64_t f = 0; f < s.mlp; ++f) {
        double g = 0, u = 0;
        for (int64_t d = 0; d < s.embed; ++d) {
          const int64_t w = (a.expert * s.embed + d) * s.mlp + f;
          g += x[at * s.embed + d] * gate[w];
          u += x[at * s.embed + d] * up[w];
        }
        const double h = g / (1 + std::exp(-g)) * u * a.weight;
        for (int64_t d = 0; d < s.embed; ++d)
          y[at * s.embed + d] += h * down[(a.expert * s.mlp + f) * s.embed + d];
      }
    }
  }
};

void expect_near(const Doubles& got, const Doubles& expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], expected[i], tolerance * std::max(1.0, std::fabs(expected[i]))) << i;
}

struct Case {
  const char* name;
  int64_t experts;
  int64_t experts_per_token;
  std::optional<double> capacity_factor;
  DropPolicy drop_policy;
  double bias;  // above 0: unbalanced
  int64_t padding;
};
const Case kCases[] = {
    {"balanced", 8, 2, {}, DropPolicy::kPosition, 0, 0},
    {"all_rounds", 8, 2, {}, DropPolicy::kPosition, 3, 0},
    {"all_rounds_with_padding", 8, 2, {}, DropPolicy::kPosition, 3, 7},
    {"one_expert", 1, 1, {}, DropPolicy::kPosition, 0, 0},
    {"all_experts", 4, 4, {}, DropPolicy::kPosition, 0, 3},
    {"three_of_sixteen", 16, 3, {}, DropPolicy::kPosition, 0.3, 3},
    {"a_whole_row_of_padding", 8, 2, {}, DropPolicy::kPosition, 0.3, 32},
    {"dropped_by_position", 8, 2, 1.0, DropPolicy::kPosition, 0.3, 5},
    {"dropped_by_weight", 8, 2, 1.0, DropPolicy::kWeight, 0.3, 5},
    {"odd_capacity", 8, 2, 0.7, DropPolicy::kWeight, 1, 5},
    {"room_for_all", 8, 2, 4.0, DropPolicy::kPosition, 3, 0},
};

MoeConfig config_of(const Case& c, const Sizes& sizes) {
  MoeConfig config = config_of(sizes, c.experts, c.experts_per_token);
  config.capacity_factor = c.capacity_factor;
  config.drop_policy = c.drop_policy;
  return config;
}

TEST(Moe, IsTheHosts) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    const Sizes sizes;
    const MoeConfig config = config_of(c, sizes);
    std::vector<HostArray> inputs = inputs_of(sizes, config, c.bias);
    mask(inputs, c.padding);
    const auto outputs = evaluate(moe_fn(config), inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    const Host host(config, inputs);
    expect_near(to_doubles((*outputs)[0]), host.y, 1e-12);
    expect_near(to_doubles((*outputs)[1]), host.sums, 1e-12);
    const bool drops = std::string_view(c.name).starts_with("dropped");
    EXPECT_EQ(drops, host.sums[kDroppedSum] > 4 && c.bias < 1);
  }
}

// The rounds that the cases above mean to run.
TEST(Moe, GivesEveryAssignmentAPlaceInSomeRound) {
  const MoeRounds few = moe_rounds(config_of(Sizes{}, 8, 2), 32);
  EXPECT_EQ(few.first, 16);
  EXPECT_EQ(few.next, 8);
  EXPECT_EQ(few.most, 2);
  for (const int64_t length : {1, 7, 8, 100, 256, 2048}) {
    for (const int64_t experts : {1, 2, 8, 64}) {
      const MoeRounds r = moe_rounds(config_of(Sizes{}, experts, 1), length);
      EXPECT_GE(r.first + r.most * r.next, length);
      EXPECT_LT(r.first + (r.most - 1) * r.next, length);
    }
  }
}

// As a mesh with a context axis has them: columns in another order than the sequence's.
TEST(Moe, DropsByTheSequencesOrderNotTheColumns) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const Sizes sizes;
  Doubles order;  // of the columns' places: 7, 14, 21, 28, 3, ...
  for (int64_t t = 0; t < sizes.length; ++t)
    order.push_back(static_cast<double>((t + 1) * 7 % sizes.length));
  const auto shuffled = [&](const HostArray& rows) {
    const Doubles values = to_doubles(rows);
    const size_t width = values.size() / (sizes.batch * sizes.length);
    Doubles result;
    for (int64_t b = 0; b < sizes.batch; ++b)
      for (const double t : order)
        for (size_t i = 0; i < width; ++i)
          result.push_back(values[(b * sizes.length + static_cast<int64_t>(t)) * width + i]);
    return from_doubles(rows.shape(), result);
  };
  for (const Case& c : {kCases[7], kCases[8]}) {
    SCOPED_TRACE(c.name);
    const MoeConfig config = config_of(c, sizes);
    std::vector<HostArray> inputs = inputs_of(sizes, config, c.bias);
    mask(inputs, c.padding);
    Host host(config, inputs);
    for (const int i : {0, 5, 6}) inputs[i] = shuffled(inputs[i]);
    inputs.push_back(from_doubles({DType::kS32, {sizes.length}}, order));
    const auto outputs = evaluate(moe_fn(config), inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    const HostArray y =
        from_doubles({DType::kF64, {sizes.batch, sizes.length, sizes.embed}}, host.y);
    expect_near(to_doubles((*outputs)[0]), to_doubles(shuffled(y)), 1e-12);
    expect_near(to_doubles((*outputs)[1]), host.sums, 1e-12);
  }
}

TEST(Moe, HasTheGradientOfFiniteDifferences) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  for (const Case& c : {kCases[1], kCases[2], kCases[7], kCases[8]}) {
    const Sizes sizes{.batch = c.padding > 0 ? 2 : 1, .embed = 2, .mlp = 2};
    const MoeConfig config = config_of(c, sizes);
    std::vector<HostArray> inputs = inputs_of(sizes, config, c.bias);
    if (c.padding > 0) mask(inputs, c.padding);
    check_gradient({.name = c.name,
                    .fn = moe_fn(config),
                    .inputs = inputs,
                    .options = {.tolerance = 1e-6, .step = 1e-5, .second_order = false}});
  }
}

}  // namespace
}  // namespace tessera::op_testing
