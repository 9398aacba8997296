#include "tessera/ops/reduce.h"

#include "tessera/ops/elementwise.h"
#include "tests/ops/golden.h"
#include "tests/ops/op_testing.h"

namespace tessera::op_testing {
namespace {

using Parameters = std::span<const Value>;
using Values = std::vector<Value>;
using Reduction = Value (*)(Value, const DimList&, bool);

template <typename Fn>
BodyFn one(Fn fn) {
  return [fn](Graph&, Parameters p) -> Values { return {fn(p[0])}; };
}

struct NamedReduction {
  std::string name;
  Reduction fn;
};

void add_reductions(std::vector<GoldenFunction>& all) {
  const std::vector<NamedReduction> reductions = {{"sum", sum},   {"prod", prod},
                                                  {"max", max},   {"min", min},
                                                  {"mean", mean}, {"logsumexp", logsumexp}};
  for (const auto& [name, fn] : reductions) {
    all.push_back({name + "_all", one([fn](Value x) { return fn(x, kAllDims, false); })});
    all.push_back({name + "_dim_1", one([fn](Value x) { return fn(x, 1, false); })});
    all.push_back({name + "_dims_0_minus1", one([fn](Value x) { return fn(x, {0, -1}, false); })});
    all.push_back({name + "_none", one([fn](Value x) { return fn(x, {}, false); })});
    all.push_back({name + "_keepdims", one([fn](Value x) { return fn(x, 1, true); })});
  }
  const std::vector<NamedReduction> of_bools = {{"all", tessera::all}, {"any", any}};
  for (const auto& [name, fn] : of_bools) {
    all.push_back({name + "_all", one([fn](Value x) { return fn(x, kAllDims, false); })});
    all.push_back({name + "_dim_1", one([fn](Value x) { return fn(x, 1, false); })});
    all.push_back({name + "_keepdims", one([fn](Value x) { return fn(x, 1, true); })});
  }
}

const bool kGolden = add_golden_functions("reduce", [] {
  std::vector<GoldenFunction> all = {
      {"reduce_and_1", one([](Value x) { return reduce_and(x, 1); })},
      {"reduce_or_1", one([](Value x) { return reduce_or(x, 1); })},
      {"argmax_1", one([](Value x) { return argmax(x, 1); })},
      {"argmin_1", one([](Value x) { return argmin(x, -1); })},
      {"argmax_0_keepdims_u8", one([](Value x) { return argmax(x, 0, true, DType::kU8); })},
      {"argmin_0_keepdims_u8", one([](Value x) { return argmin(x, 0, true, DType::kU8); })},
      {"cumsum_0", one([](Value x) { return cumsum(x, 0); })},
      {"cumsum_1", one([](Value x) { return cumsum(x, 1); })},
      {"cumsum_1_reverse", one([](Value x) { return cumsum(x, 1, /*reverse=*/true); })},
      {"softmax", one([](Value x) { return softmax(x); })},
      {"softmax_0", one([](Value x) { return softmax(x, 0); })},
      {"log_softmax", one([](Value x) { return log_softmax(x); })},
  };
  add_reductions(all);
  return all;
});

// Of distinct values, far enough apart for the differences.
HostArray distinct(Dims dims) {
  HostArray array(Shape{DType::kF64, std::move(dims)});
  auto values = array.as<double>();
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = 0.1 * static_cast<double>((i * 7) % values.size()) - 0.4;
  }
  return array;
}

template <typename Fn>
GradientCase reduced(std::string name, HostArray x, Fn fn) {
  return {.name = std::move(name),
          .fn = [fn](Graph&, Parameters p) -> Values {
            const Value y = fn(p[0]);
            return {y * y};
          },
          .inputs = {std::move(x)}};
}

// Zeros, where dividing the product by the element would fail.
HostArray with_zeros(std::vector<double> values) {
  const auto size = static_cast<int64_t>(values.size());
  return HostArray::from<double>(DType::kF64, {size}, values);
}

const bool kGradients = add_gradient_cases("reduce", [] {
  return std::vector<GradientCase>{
      reduced("sum", random_f64({2, 3, 2}),
              [](Value x) {
                return sum(x, {0, 2});
              }),
      reduced("sum_keepdims", random_f64({2, 3}), [](Value x) { return sum(x, -1, true) * x; }),
      reduced("sum_all", random_f64({2, 3}), [](Value x) { return sum(x * x); }),
      reduced("mean", random_f64({2, 3}), [](Value x) { return mean(x, 1); }),
      reduced("prod", random_f64({2, 3, 2}, 0.5, 1.5),
              [](Value x) {
                return prod(x, {0, 2});
              }),
      reduced("prod_of_five", random_f64({5, 2}, -1, 1), [](Value x) { return prod(x, 0); }),
      reduced("prod_with_a_zero", with_zeros({0.5, 0, -1.5}), [](Value x) { return prod(x); }),
      reduced("prod_with_two_zeros", with_zeros({0.5, 0, -1.5, 0}),
              [](Value x) { return prod(x) + prod(x * x + x); }),
      reduced("prod_of_one", random_f64({1}), [](Value x) { return prod(x); }),
      reduced("max", distinct({3, 4}), [](Value x) { return max(x, 1); }),
      reduced("max_all", distinct({2, 3}), [](Value x) { return max(x); }),
      reduced("min", distinct({3, 4}), [](Value x) { return min(x, 0, true) * x; }),
      reduced("cumsum", random_f64({2, 5}), [](Value x) { return cumsum(x, 1); }),
      reduced("cumsum_reverse", random_f64({3, 2}), [](Value x) { return cumsum(x, 0, true); }),
      reduced("softmax", random_f64({2, 4}), [](Value x) { return softmax(x); }),
      reduced("softmax_0", random_f64({3, 2}), [](Value x) { return softmax(x, 0); }),
      reduced("log_softmax", random_f64({2, 4}), [](Value x) { return log_softmax(x); }),
      reduced("logsumexp", random_f64({2, 4}), [](Value x) { return logsumexp(x, 1); }),
  };
});

}  // namespace
}  // namespace tessera::op_testing
