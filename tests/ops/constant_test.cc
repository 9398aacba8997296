#include "tessera/ops/constant.h"

#include <limits>

#include "tests/ops/golden.h"
#include "tests/ops/op_testing.h"

namespace tessera::op_testing {
namespace {

using Parameters = std::span<const Value>;
using Values = std::vector<Value>;

HostArray pattern(DType dtype) {
  const std::vector<double> values = {0, 1, 1, 1, 0, 0};
  return from_doubles(Shape{dtype, {2, 3}}, values);
}

HostArray counted(Shape shape, double (*element)(int64_t)) {
  std::vector<double> values;
  for (int64_t i = 0; i < shape.elements(); ++i) values.push_back(element(i));
  return from_doubles(std::move(shape), values);
}

BodyFn always(std::function<Values(Graph&)> fn) {
  return [fn = std::move(fn)](Graph& graph, Parameters) { return fn(graph); };
}

Values special_numbers(Graph& g) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  Values all;
  for (double v : {kInfinity, -kInfinity, kNan, 0.1, -0.0})
    all.push_back(scalar(g, DType::kF32, v));
  for (double v : {kInfinity, kNan, 0.1}) all.push_back(scalar(g, DType::kBF16, v));
  all.push_back(scalar(g, DType::kF8E4M3FN, kNan));
  for (double v : {0.1, -2.5e-300}) all.push_back(scalar(g, DType::kF64, v));
  return all;
}

Values extreme_integers(Graph& g) {
  using Signed = std::numeric_limits<int64_t>;
  const std::vector<int64_t> s = {Signed::min(), Signed::max()};
  const std::vector<uint64_t> u = {0, std::numeric_limits<uint64_t>::max()};
  return {constant(g, HostArray::from<int64_t>(DType::kS64, {2}, s)),
          constant(g, HostArray::from<uint64_t>(DType::kU64, {2}, u))};
}

std::vector<GoldenFunction> of_every_dtype() {
  std::vector<GoldenFunction> all;
  for (DType dtype : all_dtypes()) {
    const std::string name(dtype_name(dtype));
    all.push_back({"full_" + name, always([dtype](Graph& g) -> Values {
                     return {full(g, {dtype, {2, 3}}, 1)};
                   })});
    all.push_back(
        {"scalar_" + name, always([dtype](Graph& g) -> Values { return {scalar(g, dtype, 1)}; })});
    all.push_back({"constant_" + name,
                   always([dtype](Graph& g) -> Values { return {constant(g, pattern(dtype))}; })});
    if (is_bool(dtype)) continue;
    all.push_back({"iota_" + name, always([dtype](Graph& g) -> Values {
                     return {iota(g, {dtype, {2, 3}}, 0), iota(g, {dtype, {2, 3}}, -1)};
                   })});
  }
  return all;
}

const bool kGolden = add_golden_functions("constant", [] {
  std::vector<GoldenFunction> all = of_every_dtype();
  all.push_back({"like", [](Graph&, Parameters p) -> Values {
                   return {zeros_like(p[0]), ones_like(p[0]), scalar_like(p[0], 1)};
                 }});
  all.push_back({"full_special", always(special_numbers)});
  all.push_back({"extremes_64", always(extreme_integers)});
  all.push_back({"large_f32", always([](Graph& g) -> Values {
                   return {constant(g, counted({DType::kF32, {2, 100}},
                                               [](int64_t i) { return double(i) / 7; }))};
                 })});
  all.push_back({"large_bool", always([](Graph& g) -> Values {
                   return {constant(g, counted({DType::kBool, {100}},
                                               [](int64_t i) { return double(i % 3 == 0); }))};
                 })});
  all.push_back({"large_s4", always([](Graph& g) -> Values {
                   return {constant(g, counted({DType::kS4, {100}},
                                               [](int64_t i) { return double(i % 16 - 8); }))};
                 })});
  all.push_back({"empty", always([](Graph& g) -> Values {
                   return {constant(g, HostArray(Shape{DType::kF32, {0, 3}})),
                           zeros(g, Shape{DType::kS32, {2, 0}})};
                 })});
  return all;
});

}  // namespace
}  // namespace tessera::op_testing
