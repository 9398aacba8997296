#pragma once

#include <memory>
#include <optional>

#include "tessera/base/tree.h"
#include "tessera/data/batch_loader.h"
#include "tessera/data/token_store.h"
#include "tessera/data/unigram.h"
#include "tessera/runtime/array.h"
#include "tessera/runtime/compiled_function.h"
#include "tessera/train/config.h"

namespace tessera {

/// A run's data: a store's documents, split into those to train on and those held out.
struct TrainingData {
  std::shared_ptr<const TokenStore> store;
  std::unique_ptr<BatchLoader> train;       ///< without end
  std::unique_ptr<BatchLoader> validation;  ///< one pass, in order; null when nothing is held out
  std::optional<UnigramLoss> unigram;       ///< with a validation part only

  static Result<TrainingData> open(const RunConfig& config,
                                   std::shared_ptr<const TokenStore> store);
};

/// Puts a batch on the devices, as the program's "batch.*" arguments are laid out.
Result<Tree<Array>> put_batch(Runtime& runtime, const Batch& batch,
                              const CompiledFunction& program);

}  // namespace tessera
