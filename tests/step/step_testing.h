#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/models/llama/model.h"
#include "tessera/runtime/testing.h"
#include "tessera/train/compile.h"
#include "tessera/train/config.h"

/// Runs programs of training on a mesh of CPU devices.
namespace tessera::step_testing {

/// A recipe of a small model in f32: 2 layers, batch 8 of 16 tokens.
RunConfig small_config();

/// The usual axis rules over a mesh of these axes ("fsdp", 2); the others are 1.
Layout layout_of(std::vector<MeshAxis> axes);

/// Values by path, in any order.
using Inputs = Tree<HostArray>;

/// Initial parameters by the config's seed, as the trainer begins: "params.*", "optimizer.*",
/// "step", and whatever else the state has.
Result<Inputs> initial_state(const LanguageModel& model, const RunConfig& config);
/// A batch of packed rows: random tokens, two documents a row, and a mask that counts very
/// different numbers of tokens in each row.
Inputs uneven_batch(const TrainingConfig& training, int64_t vocabulary, uint32_t seed = 0);
HostArray f32_scalar(float value);

/// A program compiled for a layout's mesh.
class Compiled {
 public:
  static Result<Compiled> create(const TracedProgram& program,
                                 const Layout& layout = layout_of({}));
  /// The results by path, as host arrays. `inputs` may have more than the program takes.
  Result<Inputs> run(const Inputs& inputs) const;
  const pjrt::Executable& executable() const { return function_->executable(); }

 private:
  std::shared_ptr<Runtime> runtime_;
  std::shared_ptr<CompiledFunction> function_;
};

/// Compiles and runs once.
Result<Inputs> run(const TracedProgram& program, const Inputs& inputs,
                   const Layout& layout = layout_of({}));

std::vector<double> doubles(const Inputs& results, std::string_view path);
/// `from`, with the values that `more` has in their places, and the rest of `more` added.
Inputs with(Inputs from, const Inputs& more);
double number(const Inputs& results, std::string_view path);

/// max |a - b| / max |a|: how far apart two arrays are, in the scale of the first.
double relative_distance(std::span<const double> a, std::span<const double> b);

}  // namespace tessera::step_testing
