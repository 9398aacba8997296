#include "tessera/ops/shape.h"

#include "tests/ops/op_testing.h"

namespace tessera::op_testing {
namespace {

using Parameters = std::span<const Value>;
using Values = std::vector<Value>;

const bool kGradients = add_gradient_cases("shape", [] {
  return std::vector<GradientCase>{
      {.name = "reshape",
       .fn = [](Graph&, Parameters p) -> Values {
         return {reshape(p[0], {3, -1})};
       },
       .inputs = {random_f64({2, 3})}},
  };
});

}  // namespace
}  // namespace tessera::op_testing
