#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tessera/ir/graph.h"
#include "tessera/ir/host_array.h"

/// Values of ops against NumPy's, and their StableHLO text, by golden files.
///
/// golden/<family>.json is made by make_golden.py from golden_<family>.py, golden/<family>.mlir by
/// running op_test with TESSERA_UPDATE_GOLDEN=1.
namespace tessera::op_testing {

/// What a key of the golden files stands for. `fn` gets the inputs of one case.
struct GoldenFunction {
  std::string key;
  BodyFn fn;
};

/// Files a family's functions, at namespace scope of a *_test.cc:
/// `const bool kFiled = add_golden_functions("reduce", [] { return std::vector<GoldenFunction>{…};
/// });` Tests OpValues/<family> and OpText/<family> then hold every function to the files; a key on
/// one side only is a failure.
using MakeGoldenFunctions = std::function<std::vector<GoldenFunction>()>;
bool add_golden_functions(std::string family, MakeGoldenFunctions make);

struct GoldenFamily {
  std::string name;
  MakeGoldenFunctions make;
};
const std::vector<GoldenFamily>& golden_families();

/// One example of a function.
struct GoldenCase {
  std::string key;
  std::vector<HostArray> inputs;
  std::vector<HostArray> outputs;
  /// How far floats may lie from NumPy's, in units of the dtype's epsilon at the expected value;
  /// integers and bool must be equal.
  double ulps = 0;
};

/// The cases of golden/<family>.json, in their order.
Result<std::vector<GoldenCase>> load_golden(const std::string& family);
/// The path of a file in the folder of golden files.
std::string golden_path(const std::string& file);
/// Fails the running test when `got` is not what the case expects.
void expect_golden(const GoldenCase& c, std::span<const HostArray> got);

}  // namespace tessera::op_testing
