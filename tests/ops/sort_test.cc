#include "tessera/ops/sort.h"

#include "tessera/ops/elementwise.h"
#include "tests/ops/golden.h"
#include "tests/ops/op_testing.h"

namespace tessera::op_testing {
namespace {

using Parameters = std::span<const Value>;
using Values = std::vector<Value>;

GoldenFunction golden_sort(std::string key, SortOptions options) {
  return {std::move(key), [options](Graph&, Parameters p) { return sort(p, options); }};
}

GoldenFunction golden_argsort(std::string key, SortOptions options) {
  return {std::move(key),
          [options](Graph&, Parameters p) -> Values { return {argsort(p[0], options)}; }};
}

const bool kGolden = add_golden_functions("sort", [] {
  return std::vector<GoldenFunction>{
      golden_sort("sort", {}),
      golden_sort("sort_descending", {.descending = true}),
      golden_sort("sort_dim_0", {.dim = 0}),
      golden_sort("sort_by_key", {}),
      golden_sort("sort_by_two_keys", {.num_keys = 2}),
      golden_argsort("argsort", {}),
      golden_argsort("argsort_descending", {.descending = true}),
      {"top_k_3",
       [](Graph&, Parameters p) -> Values {
         const TopK top = top_k(p[0], 3);
         return {top.values, top.indices};
       }},
  };
});

const bool kGradients = add_gradient_cases("sort", [] {
  return std::vector<GradientCase>{
      {.name = "sort",
       .fn = [](Graph&, Parameters p) -> Values { return {square(sort(p[0]))}; },
       .inputs = {random_f64({2, 5})}},
      {.name = "sort_descending_by_the_first_dim",
       .fn = [](Graph&, Parameters p) -> Values {
         return {square(sort(p[0], {.dim = 0, .descending = true}))};
       },
       .inputs = {random_f64({4, 2})}},
      {.name = "sort_moves_values_with_keys",
       .fn = [](Graph&, Parameters p) -> Values {
         const Values sorted = sort({p[0], p[1]}, {.dim = 0});
         return {square(sorted[0]), sorted[1] * sorted[0]};
       },
       .inputs = {random_f64({4, 2}), random_f64({4, 2}, -1, 1, 1)}},
      {.name = "top_k",
       .fn = [](Graph&, Parameters p) -> Values { return {square(top_k(p[0], 2).values)}; },
       .inputs = {random_f64({2, 5})}},
  };
});

}  // namespace
}  // namespace tessera::op_testing
