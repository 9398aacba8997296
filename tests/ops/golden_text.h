#pragma once

#include <string>

#include "tests/ops/op_testing.h"

namespace tessera::op_testing {

/// A named program whose text a golden file holds.
struct TextCase {
  std::string name;
  BodyFn fn;
  std::vector<HostArray> inputs;
  std::optional<Mesh> mesh = {};
};

/// Fails the running test unless golden/<file> holds the programs' StableHLO text; writes the file
/// when TESSERA_UPDATE_GOLDEN is set. For families whose values NumPy cannot give.
void expect_golden_text(const std::string& file, std::span<const TextCase> cases);

/// The StableHLO text of one program; fails the running test when there is none.
std::string printed(const TextCase& c);

}  // namespace tessera::op_testing
