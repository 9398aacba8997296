#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tessera/pjrt/hlo_module.h"
#include "tessera/train/config.h"

/// A small Mixtral-style model trained by the trainer's own step on a mesh.
namespace tessera::moe {

using Degrees = std::vector<std::pair<std::string, int64_t>>;
std::string to_string(const Degrees& degrees);

/// Two layers of eight experts, two a token; f32; its batch has padding and documents.
RunConfig small_config();

struct Run {
  std::vector<double> losses;
  pjrt::HloModule module;  ///< the optimized program
};
/// `steps` updates on the same batch, on a mesh of these degrees (others are 1).
Result<Run> run(RunConfig config, const Degrees& degrees, int steps = 10);

/// |a - b| / b, the most over the steps.
double furthest(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace tessera::moe
