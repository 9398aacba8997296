#pragma once

#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "tessera/kernels/kernel.h"

/// For tests only.
namespace tessera::testing {

/// `kernels` of a recipe that has all there are, whatever the environment says of auto.
inline std::string every_kernel() {
  std::vector<std::string> names;
  for (const Kernel& kernel : all_kernels()) names.emplace_back(kernel.name);
  return absl::StrJoin(names, ",");
}

}  // namespace tessera::testing
