#include "tessera/ops/elementwise.h"

#include "tests/ops/golden.h"
#include "tests/ops/op_testing.h"

namespace tessera::op_testing {
namespace {

using Parameters = std::span<const Value>;
using Values = std::vector<Value>;

template <typename Fn>
BodyFn one(Fn fn) {
  return [fn](Graph&, Parameters p) -> Values { return {fn(p[0])}; };
}
template <typename Fn>
BodyFn two(Fn fn) {
  return [fn](Graph&, Parameters p) -> Values { return {fn(p[0], p[1])}; };
}
template <typename Fn>
BodyFn three(Fn fn) {
  return [fn](Graph&, Parameters p) -> Values { return {fn(p[0], p[1], p[2])}; };
}

using Unary = Value (*)(Value);
using Binary = Value (*)(Value, Value);

struct NamedUnary {
  std::string name;
  Unary fn;
};
struct NamedBinary {
  std::string name;
  Binary fn;
};

const std::vector<NamedUnary>& unary() {
  static const std::vector<NamedUnary> kAll = {
      {"abs", abs},
      {"neg", neg},
      {"sign", sign},
      {"floor", floor},
      {"ceil", ceil},
      {"round", round},
      {"exp", exp},
      {"expm1", expm1},
      {"log", log},
      {"log1p", log1p},
      {"sqrt", sqrt},
      {"rsqrt", rsqrt},
      {"sin", sin},
      {"cos", cos},
      {"tanh", tanh},
      {"logistic", logistic},
      {"erf", erf},
      {"relu", relu},
      {"square", square},
      {"silu", silu},
      {"softplus", softplus},
      {"is_finite", is_finite},
      {"stop_gradient", stop_gradient},
      {"bitwise_not", bitwise_not},
      {"logical_not", logical_not},
      {"popcount", popcount},
      {"count_leading_zeros", count_leading_zeros},
  };
  return kAll;
}

const std::vector<NamedBinary>& binary() {
  static const std::vector<NamedBinary> kAll = {
      {"add", add},
      {"subtract", subtract},
      {"multiply", multiply},
      {"divide", divide},
      {"remainder", remainder},
      {"pow", pow},
      {"atan2", atan2},
      {"maximum", maximum},
      {"minimum", minimum},
      {"bitwise_and", bitwise_and},
      {"bitwise_or", bitwise_or},
      {"bitwise_xor", bitwise_xor},
      {"logical_and", logical_and},
      {"logical_or", logical_or},
      {"logical_xor", logical_xor},
      {"shift_left", shift_left},
      {"shift_right_logical", shift_right_logical},
      {"shift_right_arithmetic", shift_right_arithmetic},
      {"equal", equal},
      {"not_equal", not_equal},
      {"less", less},
      {"less_equal", less_equal},
      {"greater", greater},
      {"greater_equal", greater_equal},
  };
  return kAll;
}

const bool kGolden = add_golden_functions("elementwise", [] {
  std::vector<GoldenFunction> all;
  for (const NamedUnary& op : unary()) all.push_back({op.name, one(op.fn)});
  for (const NamedBinary& op : binary()) all.push_back({op.name, two(op.fn)});
  for (DType dtype : all_dtypes()) {
    const auto to = [dtype](Value x) { return convert(x, dtype); };
    all.push_back({str_cat("convert_to_", dtype_name(dtype)), one(to)});
  }
  for (DType dtype : {DType::kU8, DType::kU16, DType::kU32, DType::kF32}) {
    const auto to = [dtype](Value x) { return bitcast(x, dtype); };
    all.push_back({str_cat("bitcast_to_", dtype_name(dtype)), one(to)});
  }
  const std::vector<GoldenFunction> others = {
      {"gelu", one([](Value x) { return gelu(x); })},
      {"gelu_tanh", one([](Value x) { return gelu(x, /*approximate=*/true); })},
      {"add_number", one([](Value x) { return x + 1.5; })},
      {"number_minus", one([](Value x) { return 2 - x; })},
      {"number_over", one([](Value x) { return 2 / x; })},
      {"pow_2", one([](Value x) { return pow(x, 2); })},
      {"pow_half", one([](Value x) { return pow(x, 0.5); })},
      {"pow_minus_half", one([](Value x) { return pow(x, -0.5); })},
      {"pow_minus_1", one([](Value x) { return pow(x, -1); })},
      {"pow_3", one([](Value x) { return pow(x, 3); })},
      {"select", three([](Value c, Value a, Value b) { return select(c, a, b); })},
      {"select_number", two([](Value c, Value x) { return select(c, x, -1); })},
      {"clamp", three([](Value x, Value low, Value high) { return clamp(x, low, high); })},
      {"clamp_numbers", one([](Value x) { return clamp(x, -1, 1.5); })},
  };
  all.insert(all.end(), others.begin(), others.end());
  return all;
});

// Random values keep clear of kinks and ties by more than twice the step of the differences.
HostArray x_in(double low, double high, uint64_t seed = 0) {
  return random_f64({5}, low, high, seed);
}

GradientCase unary_case(std::string name, Unary fn, double low, double high) {
  return {.name = std::move(name), .fn = one(fn), .inputs = {x_in(low, high)}};
}

const bool kUnaryGradients = add_gradient_cases("elementwise_unary", [] {
  return std::vector<GradientCase>{
      unary_case("abs_of_positive", abs, 0.1, 1),
      unary_case("abs_of_negative", abs, -1, -0.1),
      unary_case("neg", neg, -1, 1),
      unary_case("exp", exp, -1, 1),
      unary_case("expm1", expm1, -1, 1),
      unary_case("log", log, 0.5, 2),
      unary_case("log1p", log1p, -0.4, 1),
      unary_case("sqrt", sqrt, 0.5, 2),
      unary_case("rsqrt", rsqrt, 0.5, 2),
      unary_case("sin", sin, -3, 3),
      unary_case("cos", cos, -3, 3),
      unary_case("tanh", tanh, -2, 2),
      unary_case("logistic", logistic, -3, 3),
      unary_case("erf", erf, -1.5, 1.5),
      unary_case("relu_of_positive", relu, 0.1, 1),
      unary_case("relu_of_negative", relu, -1, -0.1),
      unary_case("silu", silu, -2, 2),
      unary_case("softplus", softplus, 0.1, 2),
      unary_case("square", square, -2, 2),
      {.name = "gelu", .fn = one([](Value x) { return gelu(x); }), .inputs = {x_in(-2, 2)}},
      {.name = "gelu_tanh",
       .fn = one([](Value x) { return gelu(x, true); }),
       .inputs = {x_in(-2, 2)}},
      {.name = "through_steps",
       .fn = one([](Value x) { return x * (floor(x) + ceil(x) + round(x) + sign(x)); }),
       .inputs = {x_in(1.1, 1.4)}},
      {.name = "convert_there_and_back",
       .fn = one([](Value x) { return x * convert(convert(x, DType::kS32), DType::kF64); }),
       .inputs = {x_in(2.1, 2.9)}},
      {.name = "convert_to_f32",
       .fn = one([](Value x) { return convert(convert(x * x, DType::kF32), DType::kF64) * x; }),
       .inputs = {x_in(0.5, 1)},
       // Differences of what is rounded to f32 tell only this much.
       .options = {.tolerance = 1e-3, .step = 1e-2}},
  };
});

GradientCase binary_case(std::string name, Binary fn, Dims a, Dims b) {
  return {.name = std::move(name),
          .fn = two(fn),
          .inputs = {random_f64(std::move(a), 1.1, 1.9), random_f64(std::move(b), 0.4, 0.9, 1)}};
}

const bool kBinaryGradients = add_gradient_cases("elementwise_binary", [] {
  const Dims full = {2, 3};
  return std::vector<GradientCase>{
      binary_case("add", add, full, full),
      binary_case("add_row", add, full, {3}),
      binary_case("add_column", add, full, {2, 1}),
      binary_case("subtract", subtract, full, {1, 3}),
      binary_case("multiply", multiply, full, {}),
      binary_case("multiply_both_grow", multiply, {2, 1}, {3}),
      binary_case("divide", divide, {3}, full),
      binary_case("pow", pow, full, full),
      binary_case("atan2", atan2, full, full),
      binary_case("maximum_takes_first", maximum, full, full),
      binary_case("minimum_takes_second", minimum, full, full),
      {.name = "remainder",  // quotients far from whole numbers
       .fn = two([](Value a, Value b) { return remainder(a, b); }),
       .inputs = {HostArray::from<double>(DType::kF64, {4}, std::vector{5.5, -5.5, 5.5, -5.5}),
                  HostArray::from<double>(DType::kF64, {4}, std::vector{2.0, 2.0, -2.0, -2.0})}},
      {.name = "numbers",
       .fn = one([](Value x) { return (2 - x) * 3 / (x + 1.5) + 1 / x - (-x); }),
       .inputs = {x_in(0.5, 1)}},
      {.name = "pow_numbers",
       .fn = one([](Value x) { return pow(x, 3) + pow(x, 2) + pow(x, 0.5) + pow(x, -1); }),
       .inputs = {x_in(0.5, 1)}},
      {.name = "select",
       .fn = two([](Value a, Value b) { return select(greater(a, 1.5), a * b, b); }),
       .inputs = {HostArray::from<double>(DType::kF64, {3}, std::vector{1.2, 1.7, 1.9}),
                  random_f64({2, 3})}},
      {.name = "clamp",
       .fn = three([](Value x, Value low, Value high) { return clamp(x * x, low, high); }),
       .inputs = {HostArray::from<double>(DType::kF64, {3}, std::vector{0.1, 0.7, 1.5}),
                  HostArray::from<double>(DType::kF64, {}, std::vector{0.3}),
                  HostArray::from<double>(DType::kF64, {3}, std::vector{0.9, 1.0, 1.1})}},
  };
});

}  // namespace
}  // namespace tessera::op_testing
