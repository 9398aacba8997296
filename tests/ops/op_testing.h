#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/ir/graph.h"
#include "tessera/ir/host_array.h"
#include "tessera/sharding/mesh.h"

/// Runs ops on a plugin, and checks their gradients. Tests that use it start with
/// TESSERA_SKIP_WITHOUT_PLUGIN() (tessera/pjrt/testing.h).
namespace tessera::op_testing {

/// Traces `fn` with one parameter for each shape.
Result<std::shared_ptr<Graph>> trace_like(const BodyFn& fn, std::span<const HostArray> inputs);

/// A function that is compiled once and run as often as one likes. With a mesh it runs on that many
/// devices: each gets all of every input, and the outputs, which must come out whole everywhere,
/// are the first device's after a check that all devices have the same.
class Program {
 public:
  static Result<Program> compile(const BodyFn& fn, std::span<const HostArray> inputs,
                                 const std::optional<Mesh>& mesh = {});
  Result<std::vector<HostArray>> run(std::span<const HostArray> inputs) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// Traces `fn` over the inputs, prints, compiles and runs it once.
Result<std::vector<HostArray>> evaluate(const BodyFn& fn, std::span<const HostArray> inputs,
                                        const std::optional<Mesh>& mesh = {});

/// Numbers spread evenly over [low, high), the same for the same seed: f64[dims].
HostArray random_f64(Dims dims, double low = -1, double high = 1, uint64_t seed = 0);
/// The same values as another dtype.
HostArray as_dtype(const HostArray& array, DType dtype);

/// How a gradient is checked.
struct GradientOptions {
  /// Of |difference| / max(1, |expected|), in f64.
  double tolerance = 1e-8;
  /// Of the finite differences. Must be smaller than the distance to the next kink or tie.
  double step = 1e-3;
  /// Whether the gradient's gradient is checked too.
  bool second_order = true;
};

/// A function whose gradient is checked: with respect to every input of dtype f64, of a weighted
/// sum (random weights) of every floating output, against differences of fourth order.
struct GradientCase {
  std::string name;  ///< letters, digits and underscores
  BodyFn fn;
  std::vector<HostArray> inputs;
  GradientOptions options = {};
  std::optional<Mesh> mesh = {};  ///< for functions with manual regions
};
/// Fails the running test when the gradient of `c` is wrong.
void check_gradient(const GradientCase& c);

/// Files a family's cases: `const bool kFiled = add_gradient_cases("reduce", [] { return
/// std::vector<GradientCase>{…}; });` at namespace scope of a *_test.cc. Each family becomes a test
/// OpGradients/<family>, and the ops in its functions count as checked.
using MakeGradientCases = std::function<std::vector<GradientCase>()>;
bool add_gradient_cases(std::string family, MakeGradientCases make);
/// All that was filed: family and cases.
struct GradientFamily {
  std::string name;
  MakeGradientCases make;
};
const std::vector<GradientFamily>& gradient_families();

/// Names of the ops through which a gradient flows in `graph`: from floating parameters to outputs,
/// bodies of regions included.
std::set<std::string_view> differentiated_ops(const Graph& graph);

}  // namespace tessera::op_testing
