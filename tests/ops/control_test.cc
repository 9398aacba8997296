#include "tessera/ops/control.h"

#include <gmock/gmock.h>

#include "tessera/ops/autodiff.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/shape.h"
#include "tessera/pjrt/testing.h"
#include "tests/ops/op_testing.h"

namespace tessera::op_testing {
namespace {

using ::testing::HasSubstr;
using Parameters = std::span<const Value>;
using Values = std::vector<Value>;

Values to_vector(Parameters values) { return {values.begin(), values.end()}; }

// carry' = tanh(carry W + x b), y = carry' x: W and b come from outside.
ScanStep recurrent_step(Value carry, Value x, Value w, Value b) {
  const Value next = tanh(matmul(carry, w) + x * b);
  return {.carry = {next}, .ys = {next * x}};
}

Values recurrent(Parameters p, const ScanOptions& options = {}) {
  const ScanBody body = [&](Parameters carry, Parameters slices) {
    return recurrent_step(carry[0], slices[0], p[2], p[3]);
  };
  const ScanStep result = scan(body, p.first(1), p.subspan(1, 1), options);
  return {result.carry[0], result.ys[0]};
}

std::vector<HostArray> recurrent_inputs() {
  return {random_f64({3}, -1, 1, 1), random_f64({4, 3}, -1, 1, 2), random_f64({3, 3}, -1, 1, 3),
          random_f64({3}, -1, 1, 4)};
}

// A two-layer function with values to save or to compute again.
Value two_layers(Value x, Value w) {
  const Value hidden = checkpoint_name(tanh(matmul(x, w)), "hidden");
  return sin(matmul(hidden, w)) * hidden;
}

std::vector<HostArray> layer_inputs() {
  return {random_f64({2, 3}, -1, 1, 5), random_f64({3, 3}, -1, 1, 6)};
}

GradientCase checkpoint_case(std::string name, RematPolicy policy) {
  return {.name = std::move(name),
          .fn = [policy = std::move(policy)](Graph&, Parameters p) -> Values {
            return checkpoint(
                [](Parameters args) -> Values { return {two_layers(args[0], args[1])}; }, p,
                policy);
          },
          .inputs = layer_inputs()};
}

// Layers as a trainer runs them: a scan whose body is checkpointed.
GradientCase checkpointed_scan_case(std::string name, RematPolicy policy) {
  return {.name = std::move(name),
          .fn = [policy = std::move(policy)](Graph&, Parameters p) -> Values {
            const ScanBody body = [&](Parameters carry, Parameters slices) -> ScanStep {
              const Values args = {carry[0], slices[0]};
              const Branch layer = [&](Parameters a) -> Values {
                return {two_layers(a[0], a[1]) + p[2]};
              };
              return {.carry = checkpoint(layer, args, policy), .ys = {}};
            };
            return scan(body, p.first(1), p.subspan(1, 1)).carry;
          },
          .inputs = {random_f64({2, 3}, -1, 1, 5), random_f64({3, 3, 3}, -1, 1, 6),
                     random_f64({3}, -1, 1, 7)}};
}

GradientCase scan_in_checkpoint_case(std::string name, RematPolicy policy) {
  return {.name = std::move(name),
          .fn = [policy = std::move(policy)](Graph&, Parameters p) -> Values {
            return checkpoint([](Parameters args) -> Values { return recurrent(args); }, p, policy);
          },
          .inputs = recurrent_inputs()};
}

std::vector<GradientCase> scan_cases() {
  return {
      {.name = "scan_forward",
       .fn = [](Graph&, Parameters p) -> Values { return recurrent(p); },
       .inputs = recurrent_inputs()},
      {.name = "scan_reverse",
       .fn = [](Graph&, Parameters p) -> Values { return recurrent(p, {.reverse = true}); },
       .inputs = recurrent_inputs()},
      {.name = "scan_without_xs",
       .fn = [](Graph&, Parameters p) -> Values {
         const ScanBody body = [&](Parameters carry, Parameters) -> ScanStep {
           const Value next = sin(carry[0] * p[1]);
           return {.carry = {next}, .ys = {next * p[1]}};
         };
         const ScanStep result = scan(body, p.first(1), {}, {.length = 3});
         return {result.carry[0], result.ys[0]};
       },
       .inputs = {random_f64({2}), random_f64({2}, -1, 1, 1)}},
      {.name = "scan_of_ys_only",
       .fn = [](Graph&, Parameters p) -> Values {
         const ScanBody body = [&](Parameters, Parameters slices) -> ScanStep {
           return {.carry = {}, .ys = {sin(slices[0]) * p[1]}};
         };
         return scan(body, {}, p.first(1)).ys;
       },
       .inputs = {random_f64({3, 2}), random_f64({2}, -1, 1, 1)}},
      {.name = "scan_with_an_unused_x_and_an_unchanged_carry",
       .fn = [](Graph&, Parameters p) -> Values {
         const ScanBody body = [&](Parameters carry, Parameters slices) -> ScanStep {
           return {.carry = {carry[0], carry[1] * slices[0] + carry[0]}, .ys = {carry[1]}};
         };
         const ScanStep result = scan(body, p.first(2), p.subspan(2, 2));
         return {result.carry[0], result.carry[1], result.ys[0]};
       },
       .inputs = {random_f64({2}), random_f64({2}, -1, 1, 1), random_f64({3, 2}, -1, 1, 2),
                  random_f64({3, 4}, -1, 1, 3)}},
      {.name = "scan_carries_of_mixed_dtypes",
       .fn = [](Graph& g, Parameters p) -> Values {
         // A counter, a flag and a float: only the last has a gradient.
         const Values init = {scalar(g, DType::kS32, 1), scalar(g, DType::kBool, 0), p[0]};
         const ScanBody body = [&](Parameters carry, Parameters slices) -> ScanStep {
           const Value step = convert(carry[0], DType::kF64);
           const Value next = select(carry[1], carry[2] * slices[0], sin(carry[2]) + step);
           return {.carry = {carry[0] + 1.0, logical_not(carry[1]), next},
                   .ys = {carry[0], next * step}};
         };
         const ScanStep result = scan(body, init, p.subspan(1, 1));
         return {result.carry[2], result.ys[1], convert(result.ys[0], DType::kF64)};
       },
       .inputs = {random_f64({2}), random_f64({4, 2}, -1, 1, 1)}},
      {.name = "scan_of_converted_invariants",
       .fn = [](Graph&, Parameters p) -> Values {
         const ScanBody body = [&](Parameters carry, Parameters) -> ScanStep {
           // exp(p[1]) is the same in each step; the constant and the broadcast are cheap.
           const Value factor = broadcast_to(exp(p[1]), {2, 3}) * 0.5;
           return {.carry = {sin(carry[0] * factor)}, .ys = {}};
         };
         return scan(body, p.first(1), {}, {.length = 3}).carry;
       },
       .inputs = {random_f64({2, 3}), random_f64({3}, -1, 1, 1)}},
  };
}

std::vector<GradientCase> nested_scan_cases() {
  return {
      {.name = "scan_in_scan",
       .fn = [](Graph&, Parameters p) -> Values {
         const ScanBody outer = [&](Parameters carry, Parameters slices) -> ScanStep {
           const ScanBody inner = [&](Parameters c, Parameters s) -> ScanStep {
             // Uses values of both bodies around it and of the program.
             const Value next = tanh(c[0] * s[0] + carry[0] * p[2]);
             return {.carry = {next}, .ys = {next * slices[0]}};
           };
           const ScanStep result = scan(inner, carry, p.subspan(1, 1));
           return {.carry = result.carry, .ys = {sum(result.ys[0], {0})}};
         };
         const ScanStep result = scan(outer, p.first(1), p.subspan(3, 1));
         return {result.carry[0], result.ys[0]};
       },
       .inputs = {random_f64({2}), random_f64({2, 2}, -1, 1, 1), random_f64({2}, -1, 1, 2),
                  random_f64({3, 2}, -1, 1, 3)}},
      {.name = "scan_of_one_step",
       .fn = [](Graph&, Parameters p) -> Values { return recurrent(p); },
       .inputs = {random_f64({3}, -1, 1, 1), random_f64({1, 3}, -1, 1, 2),
                  random_f64({3, 3}, -1, 1, 3), random_f64({3}, -1, 1, 4)}},
      {.name = "scan_of_no_step",
       .fn = [](Graph&, Parameters p) -> Values { return recurrent(p); },
       .inputs = {random_f64({3}, -1, 1, 1), random_f64({0, 3}), random_f64({3, 3}, -1, 1, 3),
                  random_f64({3}, -1, 1, 4)}},
      {.name = "cond_in_scan",
       .fn = [](Graph&, Parameters p) -> Values {
         const ScanBody body = [&](Parameters carry, Parameters slices) -> ScanStep {
           const Branch on_true = [&](Parameters a) -> Values { return {a[0] * slices[0] * p[2]}; };
           const Branch on_false = [&](Parameters a) -> Values { return {sin(a[0]) + p[2]}; };
           return {.carry = cond(greater(sum(slices[0]), 0.0), on_true, on_false, carry), .ys = {}};
         };
         return scan(body, p.first(1), p.subspan(1, 1)).carry;
       },
       .inputs = {random_f64({2}), random_f64({4, 2}, -1, 1, 1), random_f64({2}, -1, 1, 2)}},
      {.name = "gradient_of_outer_parameters_in_a_scan",
       .fn = [](Graph&, Parameters p) -> Values {
         // Accumulates gradients over slices, as a trainer over parts of a batch. exp(p[0]) uses
         // nothing of the body, so it stands outside; the gradient must cross it all the same.
         const ScalarFn loss = [](Parameters a) { return sum(sin(exp(a[0]) * a[1])); };
         const Values init = {zeros_like(p[0])};
         const ScanBody body = [&](Parameters carry, Parameters slices) -> ScanStep {
           const Value value = loss(Values{p[0], slices[0]});
           return {.carry = {carry[0] + gradients(value, p.first(1))[0]}, .ys = {}};
         };
         return scan(body, init, p.subspan(1, 1)).carry;
       },
       .inputs = {random_f64({2}), random_f64({3, 2}, -1, 1, 1)}},
  };
}

std::vector<GradientCase> branch_cases() {
  std::vector<GradientCase> cases;
  for (const bool taken : {true, false}) {
    cases.push_back({.name = str_cat("cond_", taken ? "true" : "false"),
                     .fn = [taken](Graph& g, Parameters p) -> Values {
                       const Branch on_true = [&](Parameters a) -> Values {
                         return {a[0] * a[0] * p[2], a[0]};  // a[1] is unused, p[2] captured
                       };
                       const Branch on_false = [&](Parameters a) -> Values {
                         return {sin(a[1]) + exp(p[2]), a[1] * p[3]};
                       };
                       return cond(scalar(g, DType::kBool, taken), on_true, on_false, p.first(2));
                     },
                     .inputs = {random_f64({2}), random_f64({2}, -1, 1, 1),
                                random_f64({2}, -1, 1, 2), random_f64({2}, -1, 1, 3)}});
  }
  cases.push_back({.name = "cond_of_captures_alone",
                   .fn = [](Graph&, Parameters p) -> Values {
                     const Value positive = greater(sum(p[0]), 0.0);
                     return cond(
                         positive, [&](Parameters) -> Values { return {p[0] * p[1]}; },
                         [&](Parameters) -> Values { return {p[0] / p[1]}; }, {});
                   },
                   .inputs = {random_f64({2}, 0.5, 1), random_f64({2}, 1, 2, 1)}});
  return cases;
}

// sin with a gradient that is told, not derived.
Value told_sin(Value x) {
  const Branch f = [](Parameters a) -> Values { return {sin(a[0])}; };
  const CustomVjp vjp = [](Parameters a, Parameters, Parameters c) -> Values {
    return {c[0] * cos(a[0])};
  };
  return custom_gradient(f, vjp, std::span(&x, 1))[0];
}

std::vector<GradientCase> other_cases() {
  return {
      {.name = "custom_gradient",
       .fn = [](Graph&, Parameters p) -> Values { return {told_sin(p[0]) * p[0]}; },
       .inputs = {random_f64({3})}},
      {.name = "custom_gradient_in_scan",
       .fn = [](Graph&, Parameters p) -> Values {
         const ScanBody body = [](Parameters carry, Parameters slices) -> ScanStep {
           return {.carry = {told_sin(carry[0] * slices[0])}, .ys = {}};
         };
         return scan(body, p.first(1), p.subspan(1, 1)).carry;
       },
       .inputs = {random_f64({2}), random_f64({3, 2}, -1, 1, 1)}},
      {.name = "custom_gradient_whose_gradient_uses_a_value_from_outside",
       .fn = [](Graph& g, Parameters p) -> Values {
         const Value half = full(g, {DType::kF64, {2}}, 0.5);
         const Branch f = [](Parameters a) -> Values { return {a[0] * a[0] * 0.5}; };
         const CustomVjp vjp = [=](Parameters a, Parameters, Parameters c) -> Values {
           return {c[0] * a[0] * (half + half)};
         };
         const ScanBody body = [&](Parameters carry, Parameters slices) -> ScanStep {
           return {.carry = {custom_gradient(f, vjp, carry)[0] + slices[0]}, .ys = {}};
         };
         return scan(body, p.first(1), p.subspan(1, 1)).carry;
       },
       .inputs = {random_f64({2}), random_f64({3, 2}, -1, 1, 1)}},
      {.name = "optimization_barrier",
       .fn = [](Graph& g, Parameters p) -> Values {
         const Values in = {p[0] * p[1], scalar(g, DType::kS32, 3), p[0]};
         const Values out = optimization_barrier(in);
         return {out[0] * convert(out[1], DType::kF64)};
       },
       .inputs = {random_f64({2}), random_f64({2}, -1, 1, 1)}},
      {.name = "checkpoint_of_captures",
       .fn = [](Graph&, Parameters p) -> Values {
         const Branch f = [&](Parameters a) -> Values { return {sin(a[0] * p[1]) * p[1]}; };
         return checkpoint(f, p.first(1));
       },
       .inputs = {random_f64({2}), random_f64({2}, -1, 1, 1)}},
      {.name = "checkpoint_in_checkpoint",
       .fn = [](Graph&, Parameters p) -> Values {
         const Branch inner = [](Parameters a) -> Values { return {two_layers(a[0], a[1])}; };
         const Branch outer = [&](Parameters a) -> Values {
           return {sin(checkpoint(inner, a, save_names({"hidden"}))[0])};
         };
         return checkpoint(outer, p, save_dots());
       },
       .inputs = layer_inputs()},
      {.name = "checkpoint_with_results_that_are_integers_or_arguments",
       .fn = [](Graph&, Parameters p) -> Values {
         const Branch f = [](Parameters a) -> Values {
           return {convert(floor(a[0] * 10.0), DType::kS32), a[0], a[0] * a[1]};
         };
         const Values out = checkpoint(f, p);
         return {convert(out[0], DType::kF64) * p[1], out[1], out[2]};
       },
       .inputs = {random_f64({2}), random_f64({2}, -1, 1, 1)}},
  };
}

const bool kScanGradients = add_gradient_cases("scan", scan_cases);
const bool kNestedScanGradients = add_gradient_cases("scan_nested", nested_scan_cases);
const bool kBranchGradients = add_gradient_cases("cond", branch_cases);
const bool kOtherGradients = add_gradient_cases("custom", other_cases);
const bool kCheckpointGradients = add_gradient_cases("checkpoint", [] {
  const RematPolicy everything = [](const Node&) { return Keep::kOnDevice; };
  return std::vector<GradientCase>{
      checkpoint_case("checkpoint_saves_nothing", save_nothing()),
      checkpoint_case("checkpoint_saves_dots", save_dots()),
      checkpoint_case("checkpoint_saves_names", save_names({"hidden"})),
      {.name = "transfer_to_memory",
       .fn = [](Graph&, Parameters p) -> Values {
         const Value on_host = transfer_to_memory(sin(p[0]), kPinnedHostMemory);
         return {sin(transfer_to_memory(on_host, kDeviceMemory))};
       },
       .inputs = {random_f64({2, 3}, -1, 1, 8)}},
      checkpoint_case("checkpoint_saves_names_on_the_host", save_names({}, {"hidden"})),
      checkpoint_case("checkpoint_saves_unknown_names", save_names({"missing"})),
      checkpoint_case("checkpoint_saves_everything", everything),
      checkpointed_scan_case("scan_of_checkpoint_saves_nothing", save_nothing()),
      checkpointed_scan_case("scan_of_checkpoint_saves_dots", save_dots()),
      checkpointed_scan_case("scan_of_checkpoint_saves_names", save_names({"hidden"})),
      checkpointed_scan_case("scan_of_checkpoint_saves_names_on_the_host",
                             save_names({}, {"hidden"})),
      scan_in_checkpoint_case("checkpoint_of_scan_saves_nothing", save_nothing()),
      scan_in_checkpoint_case("checkpoint_of_scan_saves_dots", save_dots()),
      scan_in_checkpoint_case("checkpoint_of_scan_saves_everything", everything),
  };
});

// ---- values

std::vector<double> run_one(const BodyFn& fn, std::vector<HostArray> inputs) {
  const Result<std::vector<HostArray>> outputs = evaluate(fn, inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  std::vector<double> all;
  if (!outputs.ok()) return all;
  for (const HostArray& output : *outputs) {
    const std::vector<double> values = to_doubles(output);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

HostArray numbers(DType dtype, Dims dims, std::vector<double> values) {
  return from_doubles({dtype, std::move(dims)}, values);
}

TEST(Scan, RunsFromFirstToLastOrBackAndKeepsTheOrderOfYs) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto fn = [](bool reverse) {
    return [reverse](Graph&, Parameters p) -> Values {
      const ScanBody body = [](Parameters c, Parameters s) -> ScanStep {
        const Value next = c[0] * 10.0 + s[0];
        return {.carry = {next}, .ys = {next, s[0]}};
      };
      const ScanStep result = scan(body, p.first(1), p.subspan(1), {.reverse = reverse});
      return {result.carry[0], result.ys[0], result.ys[1]};
    };
  };
  const std::vector<HostArray> inputs = {numbers(DType::kS32, {}, {9}),
                                         numbers(DType::kS32, {3}, {1, 2, 3})};
  EXPECT_EQ(run_one(fn(false), inputs), (std::vector<double>{9123, 91, 912, 9123, 1, 2, 3}));
  EXPECT_EQ(run_one(fn(true), inputs), (std::vector<double>{9321, 9321, 932, 93, 1, 2, 3}));
}

TEST(Scan, OfNoStepGivesItsCarryBack) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const BodyFn fn = [](Graph&, Parameters p) -> Values {
    const ScanBody body = [](Parameters c, Parameters) -> ScanStep {
      return {.carry = {c[0] + 1.0}, .ys = {c[0]}};
    };
    const ScanStep result = scan(body, p, {}, {.length = 0});
    EXPECT_EQ(to_string(result.ys[0].shape()), "f32[0,2]");
    return {result.carry[0], result.ys[0]};
  };
  EXPECT_EQ(run_one(fn, {numbers(DType::kF32, {2}, {4, 5})}), (std::vector<double>{4, 5}));
}

TEST(While, RunsUntilItsConditionIsFalse) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  // Collatz steps from p[0], with a bound captured by the condition and a factor by the body.
  const BodyFn fn = [](Graph& g, Parameters p) -> Values {
    const Values init = {p[0], scalar(g, DType::kS32, 0)};
    const WhileCondition condition = [&](Parameters s) { return greater(s[0], p[1]); };
    const WhileBody body = [&](Parameters s) -> Values {
      const Value odd = equal(remainder(s[0], 2.0), 1.0);
      return {select(odd, s[0] * p[2] + 1.0, s[0] / 2.0), s[1] + 1.0};
    };
    return while_loop(condition, body, init);
  };
  const auto steps = [&](double start) {
    return run_one(fn, {numbers(DType::kS32, {}, {start}), numbers(DType::kS32, {}, {1}),
                        numbers(DType::kS32, {}, {3})});
  };
  EXPECT_EQ(steps(6), (std::vector<double>{1, 8}));
  EXPECT_EQ(steps(1), (std::vector<double>{1, 0}));
}

TEST(Cond, RunsTheBranchThatThePredicateNames) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const BodyFn fn = [](Graph&, Parameters p) -> Values {
    return cond(
        p[0],
        [&](Parameters a) -> Values {
          return {a[0] + p[1], p[1]};
        },
        [&](Parameters a) -> Values {
          return {a[0] - p[1], a[0]};
        },
        p.subspan(2, 1));
  };
  const auto branch = [&](double predicate) {
    return run_one(fn, {numbers(DType::kBool, {}, {predicate}), numbers(DType::kS32, {}, {3}),
                        numbers(DType::kS32, {}, {10}), numbers(DType::kS32, {}, {0})});
  };
  EXPECT_EQ(branch(1), (std::vector<double>{13, 3}));
  EXPECT_EQ(branch(0), (std::vector<double>{7, 10}));
}

TEST(Checkpoint, ComputesWhatTheFunctionDoes) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const BodyFn plain = [](Graph&, Parameters p) -> Values { return {two_layers(p[0], p[1])}; };
  const BodyFn wrapped = [](Graph&, Parameters p) -> Values {
    return checkpoint([](Parameters a) -> Values { return {two_layers(a[0], a[1])}; }, p);
  };
  EXPECT_EQ(run_one(wrapped, layer_inputs()), run_one(plain, layer_inputs()));
}

// ---- messages

Status error_of(const BodyFn& fn, std::vector<HostArray> inputs) {
  return trace_like(fn, inputs).status();
}

TEST(ScanErrors, NameTheCarryAndItsShapes) {
  const auto scan_of = [](const ScanBody& body, ScanOptions options = {}) {
    return [=](Graph& g, Parameters p) -> Values {
      const auto scope = g.scope("layers");
      return scan(body, p.first(1), p.subspan(1), options).carry;
    };
  };
  const HostArray one = random_f64({2}), stack = random_f64({3, 2}), point = random_f64({});
  const ScanBody keep = [](Parameters c, Parameters) -> ScanStep { return {to_vector(c), {}}; };
  const ScanBody grow = [](Parameters c, Parameters) -> ScanStep {
    return {.carry = {broadcast_to(c[0], {4, 2})}, .ys = {}};
  };
  const ScanBody none = [](Parameters, Parameters) -> ScanStep { return {}; };
  const Status grown = error_of(scan_of(grow), {one, stack});
  EXPECT_THAT(grown.message(),
              HasSubstr("[scan] carry 0 goes in as f64[2] and comes out as f64[4,2]"));
  EXPECT_THAT(grown.message(), HasSubstr("(layers)"));
  EXPECT_THAT(error_of(scan_of(none), {one, stack}).message(),
              HasSubstr("returns 0 carries but got 1"));
  EXPECT_THAT(error_of(scan_of(keep), {one, point}).message(), HasSubstr("xs 0 is a scalar"));
  EXPECT_THAT(error_of(scan_of(keep), {one}).message(), HasSubstr("the length must be given"));
  EXPECT_THAT(error_of(scan_of(keep, {.length = 4}), {one, stack}).message(),
              HasSubstr("[scan] xs 0 is f64[3,2] but its first dimension must be the length 4"));
}

TEST(WhileErrors, SayWhatTheBodiesGive) {
  const auto loop = [](bool good_condition) {
    return [=](Graph&, Parameters p) -> Values {
      return while_loop([&](Parameters s) { return good_condition ? less(sum(s[0]), 0.0) : s[0]; },
                        [&](Parameters s) -> Values { return {sum(s[0])}; }, p);
    };
  };
  EXPECT_THAT(error_of(loop(false), {random_f64({2})}).message(),
              HasSubstr("[while] the condition must give one bool[], got f64[2]"));
  EXPECT_THAT(error_of(loop(true), {random_f64({2})}).message(),
              HasSubstr("the body gives f64[] but the state is f64[2]"));
}

TEST(WhileErrors, HasNoGradientAndSaysWhy) {
  const BodyFn fn = [](Graph& g, Parameters p) -> Values {
    const auto scope = g.scope("decode");
    const Values result = while_loop([](Parameters s) { return less(sum(s[0]), 5.0); },
                                     [](Parameters s) -> Values { return {s[0] + 1.0}; }, p);
    return gradients(sum(result[0]), p);
  };
  EXPECT_EQ(error_of(fn, {random_f64({2})}).message(),
            "[while] cannot be differentiated: the number of steps is not known in advance; use "
            "scan, which has a fixed length (decode)");
}

TEST(CondErrors, ShowWhatTheBranchesGive) {
  const BodyFn different = [](Graph& g, Parameters p) -> Values {
    return cond(
        scalar(g, DType::kBool, 1), [](Parameters a) -> Values { return {a[0]}; },
        [](Parameters a) -> Values { return {sum(a[0])}; }, p);
  };
  EXPECT_THAT(error_of(different, {random_f64({2})}).message(),
              HasSubstr("[cond] the branches give different values: f64[2] and f64[]"));
  const BodyFn number = [](Graph&, Parameters p) -> Values {
    const Branch same = [](Parameters a) -> Values { return to_vector(a); };
    return cond(p[0], same, same, p);
  };
  EXPECT_THAT(error_of(number, {random_f64({})}).message(),
              HasSubstr("the predicate must be bool[], got f64[]"));
}

TEST(CustomGradientErrors, NameTheArgumentAndTheShapes) {
  const auto with_vjp = [](CustomVjp vjp) {
    return [vjp](Graph&, Parameters p) -> Values {
      const Branch f = [](Parameters a) -> Values { return {sum(a[0] * a[1])}; };
      return gradients(custom_gradient(f, vjp, p)[0], p);
    };
  };
  const std::vector<HostArray> inputs = {random_f64({2}), random_f64({2})};
  EXPECT_THAT(
      error_of(with_vjp([](Parameters a, Parameters, Parameters) -> Values { return {a[0]}; }),
               inputs)
          .message(),
      HasSubstr("[custom_gradient] the gradient gives 1 values for 2 arguments"));
  EXPECT_THAT(error_of(with_vjp([](Parameters a, Parameters, Parameters c) -> Values {
                         return {a[0], c[0]};
                       }),
                       inputs)
                  .message(),
              HasSubstr("the gradient of argument 1 is f64[] but the argument is f64[2]"));
}

TEST(CustomGradientErrors, SayThatACapturedValueNeedsToBeAnArgument) {
  const BodyFn fn = [](Graph&, Parameters p) -> Values {
    const Branch f = [&](Parameters a) -> Values { return {sum(a[0] * p[1])}; };
    const CustomVjp vjp = [](Parameters a, Parameters, Parameters) { return to_vector(a); };
    return gradients(custom_gradient(f, vjp, p.first(1))[0], p);
  };
  EXPECT_THAT(error_of(fn, {random_f64({2}), random_f64({2})}).message(),
              HasSubstr("pass it as an argument"));
}

TEST(CustomCallErrors, HasNoGradientOfItsOwn) {
  const BodyFn fn = [](Graph&, Parameters p) -> Values {
    CustomCallAttrs attrs{.target = "kernel", .results = {p[0].shape()}};
    return gradients(sum(custom_call(p, attrs)[0]), p);
  };
  EXPECT_THAT(error_of(fn, {random_f64({2})}).message(), HasSubstr("wrap it in custom_gradient"));
  const BodyFn nameless = [](Graph&, Parameters p) -> Values {
    return custom_call(p, {.results = {p[0].shape()}});
  };
  EXPECT_THAT(error_of(nameless, {random_f64({2})}).message(),
              HasSubstr("[custom_call] the target's name is empty"));
}

TEST(ControlErrors, CallsWithoutArgumentsAreErrors) {
  const BodyFn fn = [](Graph&, Parameters p) -> Values {
    return checkpoint([&](Parameters) { return to_vector(p); }, {});
  };
  EXPECT_THAT(error_of(fn, {random_f64({2})}).message(),
              HasSubstr("[checkpoint] needs at least one argument"));
}

// An op in a loop's body is named with the scope that it was written in, also by its gradient.
TEST(ControlErrors, NameTheScopeOfAnOpInsideABody) {
  const BodyFn fn = [](Graph& g, Parameters p) -> Values {
    const auto layers = g.scope("layers");
    const ScanBody body = [](Parameters c, Parameters) -> ScanStep {
      const auto inner = c[0].graph().scope("kernel");
      return {.carry = custom_call(c, {.target = "f", .results = {c[0].shape()}}), .ys = {}};
    };
    return gradients(sum(scan(body, p, {}, {.length = 2}).carry[0]), p);
  };
  EXPECT_THAT(error_of(fn, {random_f64({2})}).message(), HasSubstr("(layers.kernel)"));
}

}  // namespace
}  // namespace tessera::op_testing
