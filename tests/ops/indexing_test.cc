#include "tessera/ops/indexing.h"

#include "tessera/ops/elementwise.h"
#include "tests/ops/golden.h"
#include "tests/ops/op_testing.h"

namespace tessera::op_testing {
namespace {

using Parameters = std::span<const Value>;
using Values = std::vector<Value>;

HostArray s32(Dims dims, std::vector<int32_t> values) {
  return HostArray::from(DType::kS32, std::move(dims), std::span<const int32_t>(values));
}

// Squared, since these ops are linear and second derivatives would all be zero.
GradientCase indexing_case(std::string name, std::function<Value(Parameters)> fn,
                           std::vector<HostArray> inputs) {
  return {.name = std::move(name),
          .fn = [fn](Graph&, Parameters p) -> Values { return {square(fn(p))}; },
          .inputs = std::move(inputs)};
}

using Function = std::function<Value(Parameters)>;

GoldenFunction golden(std::string key, Function fn) {
  return {std::move(key), [fn](Graph&, Parameters p) -> Values { return {fn(p)}; }};
}

const bool kGolden = add_golden_functions("indexing", [] {
  const Dims sizes = {2, 3};
  return std::vector<GoldenFunction>{
      golden("take", [](Parameters p) { return take(p[0], p[1]); }),
      golden("take_clip", [](Parameters p) { return take(p[0], p[1], 0, TakeMode::kClip); }),
      golden("take_dim_1", [](Parameters p) { return take(p[0], p[1], 1); }),
      golden("take_along_dim_1", [](Parameters p) { return take_along_dim(p[0], p[1], 1); }),
      golden("take_along_dim_1_clip",
             [](Parameters p) { return take_along_dim(p[0], p[1], 1, TakeMode::kClip); }),
      golden("scatter_add", [](Parameters p) { return scatter_add(p[0], p[1], p[2]); }),
      golden("scatter_add_along_dim_1",
             [](Parameters p) { return scatter_add_along_dim(p[0], p[1], p[2], 1); }),
      golden("dynamic_slice",
             [sizes](Parameters p) { return dynamic_slice(p[0], p.subspan(1), sizes); }),
      golden("dynamic_update_slice",
             [](Parameters p) { return dynamic_update_slice(p[0], p[1], p.subspan(2)); }),
      golden("dynamic_index_dim_1", [](Parameters p) { return dynamic_index(p[0], p[1], 1); }),
      golden("one_hot", [](Parameters p) { return one_hot(p[0], 4); }),
      golden("one_hot_of_300_bf16", [](Parameters p) { return one_hot(p[0], 300, DType::kBF16); }),
  };
});

const bool kGradients = add_gradient_cases("indexing", [] {
  const auto slice = [](Parameters p) { return dynamic_slice_in_dim(p[0], p[1], 2, 1); };
  const auto update = [](Parameters p) { return dynamic_update_slice_in_dim(p[0], p[2], p[1], 1); };
  return std::vector<GradientCase>{
      indexing_case("dynamic_slice", slice, {random_f64({2, 4}), s32({}, {1})}),
      indexing_case("dynamic_slice_clamps", slice, {random_f64({2, 4}), s32({}, {9})}),
      indexing_case("dynamic_update_slice", update,
                    {random_f64({2, 4}), s32({}, {1}), random_f64({2, 2}, -1, 1, 1)}),
      indexing_case("dynamic_update_slice_clamps", update,
                    {random_f64({2, 4}), s32({}, {-3}), random_f64({2, 2}, -1, 1, 1)}),
      indexing_case("take", [](Parameters p) { return take(p[0], p[1]); },
                    {random_f64({4, 3}), s32({2, 2}, {3, 0, 3, 1})}),
      indexing_case("take_of_a_middle_dim", [](Parameters p) { return take(p[0], p[1], 1); },
                    {random_f64({2, 4, 2}), s32({3}, {3, 0, 3})}),
      indexing_case("take_clips", [](Parameters p) { return take(p[0], p[1], 0, TakeMode::kClip); },
                    {random_f64({4}), s32({3}, {-1, 2, 7})}),
      indexing_case("take_along_dim", [](Parameters p) { return take_along_dim(p[0], p[1], 1); },
                    {random_f64({2, 4, 2}), s32({2, 1, 2}, {3, 0, 1, 1})}),
      indexing_case("scatter_add_drops", [](Parameters p) { return scatter_add(p[0], p[1], p[2]); },
                    {random_f64({4, 2}), s32({4}, {1, 1, 4, -1}), random_f64({4, 2}, -1, 1, 1)}),
      indexing_case(
          "scatter_add_along_dim",
          [](Parameters p) { return scatter_add_along_dim(p[0], p[1], p[2], 0); },
          {random_f64({3, 2}), s32({3, 2}, {0, 2, 0, 5, 1, 2}), random_f64({3, 2}, -1, 1, 1)}),
      indexing_case("gather_of_windows",
                    [](Parameters p) {
                      return gather(p[0], p[1],
                                    {.offset_dims = {1, 2},
                                     .index_map = {1, 0},
                                     .index_vector_dim = 0,
                                     .window = {2, 2}});
                    },
                    {random_f64({3, 4}), s32({2, 3}, {0, 2, 9, 1, 1, -4})}),
      indexing_case(
          "scatter_add_of_windows",
          [](Parameters p) {
            return scatter_add_general(p[0], p[1], p[2],
                                       {.offset_dims = {1, 2},
                                        .index_map = {1, 0},
                                        .index_vector_dim = 0,
                                        .window = {2, 2}});
          },
          {random_f64({3, 4}), s32({2, 3}, {0, 2, 9, 1, 1, -4}), random_f64({3, 2, 2}, -1, 1, 1)}),
  };
});

}  // namespace
}  // namespace tessera::op_testing
