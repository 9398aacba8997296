#include "tessera/ops/shape.h"

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

std::vector<GoldenFunction> moves() {
  return {
      {"reshape_6_minus1", one([](Value x) {
         return reshape(x, {6, -1});
       })},
      {"reshape_flat", one([](Value x) { return reshape(x, {-1}); })},
      {"transpose_201", one([](Value x) {
         return transpose(x, {2, 0, 1});
       })},
      {"transpose", one([](Value x) { return transpose(x); })},
      {"swap_dims_0_minus1", one([](Value x) { return swap_dims(x, 0, -1); })},
      {"expand_dims_minus1", one([](Value x) { return expand_dims(x, -1); })},
      {"expand_dims_1", one([](Value x) { return expand_dims(x, 1); })},
      {"squeeze_0_minus1", one([](Value x) {
         return squeeze(x, {0, -1});
       })},
      {"reverse_0_2", one([](Value x) {
         return reverse(x, {0, 2});
       })},
      {"broadcast_to_2_3_4", one([](Value x) {
         return broadcast_to(x, {2, 3, 4});
       })},
      {"broadcast_in_dim_1", one([](Value x) {
         return broadcast_in_dim(x, {2, 3, 4}, {1});
       })},
  };
}

std::vector<GoldenFunction> cuts_and_joins() {
  return {
      {"slice_strided", one([](Value x) {
         return slice(x, {0, 1, 0}, {2, 3, 4}, {1, 1, 3});
       })},
      {"slice_in_dim_from_end", one([](Value x) { return slice_in_dim(x, 1, -2, 3); })},
      {"slice_nothing", one([](Value x) { return slice_in_dim(x, 1, 1, 1); })},
      {"split_3", [](Graph&, Parameters p) { return split(p[0], 3, 1); }},
      {"split_sizes",
       [](Graph&, Parameters p) {
         return split(p[0], Dims{1, 3, 0}, -1);
       }},
      {"concatenate_1", [](Graph&, Parameters p) -> Values { return {concatenate(p, 1)}; }},
      {"stack_minus1", [](Graph&, Parameters p) -> Values { return {stack(p, -1)}; }},
      {"stack_0", [](Graph&, Parameters p) -> Values { return {stack(p)}; }},
  };
}

BodyFn padding(std::vector<PadDim> dims) {
  return [dims](Graph&, Parameters p) -> Values { return {pad(p[0], p[1], dims)}; };
}

const bool kGolden = add_golden_functions("shape", [] {
  std::vector<GoldenFunction> all = moves();
  for (GoldenFunction& function : cuts_and_joins()) all.push_back(std::move(function));
  all.push_back({"pad_edges", padding({{1, 0, 0}, {0, 2, 0}})});
  all.push_back({"pad_interior", padding({{0, 1, 2}, {1, 0, 1}})});
  all.push_back({"pad_negative", padding({{-1, 1, 0}, {2, -1, 1}})});
  all.push_back({"pad_number", one([](Value x) { return pad(x, 0, {{1, 1, 0}, {}}); })});
  return all;
});

// Products of the elements make the second derivatives differ from zero.
template <typename Fn>
GradientCase moved(std::string name, Dims dims, Fn fn) {
  return {.name = std::move(name),
          .fn = [fn](Graph&, Parameters p) -> Values {
            const Value y = fn(p[0]);
            return {y * y};
          },
          .inputs = {random_f64(std::move(dims))}};
}

const bool kGradients = add_gradient_cases("shape", [] {
  return std::vector<GradientCase>{
      moved("reshape", {2, 3},
            [](Value x) {
              return reshape(x, {3, -1});
            }),
      moved("transpose", {2, 3, 2},
            [](Value x) {
              return transpose(x, {1, 2, 0});
            }),
      moved("broadcast_to", {3, 1},
            [](Value x) {
              return broadcast_to(x, {2, 3, 4});
            }),
      moved("broadcast_in_dim", {1, 2},
            [](Value x) {
              return broadcast_in_dim(x, {3, 2, 2}, {0, 2});
            }),
      moved("broadcast_of_scalar", {},
            [](Value x) {
              return broadcast_to(x, {2, 2});
            }),
      moved("expand_and_squeeze", {2, 1, 3},
            [](Value x) { return squeeze(expand_dims(x, -1), {1}); }),
      moved("reverse", {2, 3}, [](Value x) { return reverse(x, {-1}); }),
      moved("slice_strided", {3, 7},
            [](Value x) {
              return slice(x, {1, 1}, {3, 7}, {1, 4});
            }),
      moved("slice_nothing", {3},
            [](Value x) {
              return concatenate({x, slice_in_dim(x, 0, 2, 2)}, 0);
            }),
      moved("split", {2, 5},
            [](Value x) {
              const Values parts = split(x, Dims{2, 3}, 1);
              return concatenate({parts[1], parts[0], parts[1]}, -1);
            }),
      moved("stack", {2, 3},
            [](Value x) {
              return stack({x, x * x}, 1);
            }),
      {.name = "pad_interior",
       .fn = [](Graph&, Parameters p) -> Values {
         const Value y = pad(p[0], p[1], {{1, 2, 2}, {0, 1, 1}});
         return {y * y};
       },
       .inputs = {random_f64({2, 3}), random_f64({}, -1, 1, 1)}},
      {.name = "pad_negative",
       .fn = [](Graph&, Parameters p) -> Values {
         const Value y = pad(p[0], p[1], {{-1, 2, 0}, {1, -2, 1}});
         return {y * y};
       },
       .inputs = {random_f64({3, 4}), random_f64({}, -1, 1, 1)}},
      {.name = "concatenate",
       .fn = [](Graph&, Parameters p) -> Values {
         const Value y = concatenate({p[0], p[1], p[0]}, 0);
         return {y * y};
       },
       .inputs = {random_f64({2, 2}), random_f64({1, 2}, -1, 1, 1)}},
  };
});

}  // namespace
}  // namespace tessera::op_testing
