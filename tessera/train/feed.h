#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tessera/base/tree.h"
#include "tessera/data/batch_loader.h"
#include "tessera/data/token_store.h"
#include "tessera/data/unigram.h"
#include "tessera/runtime/array.h"
#include "tessera/runtime/compiled_function.h"
#include "tessera/train/config.h"
#include "tessera/train/layout.h"

namespace tessera {

using TokenStores = std::vector<std::shared_ptr<const TokenStore>>;

/// A run's data: the documents of its stores, split into those to train on and those held out.
struct TrainingData {
  std::unique_ptr<BatchLoader> train;       ///< with the recipe's epochs
  std::unique_ptr<BatchLoader> validation;  ///< one pass, in order, until a source ends; null when
                                            ///< nothing is held out
  std::optional<UnigramLoss> unigram;       ///< of one store, with a validation part

  /// `stores`: of config.data.sources(), in that order. `rows`: of each batch those that are read;
  /// empty: all.
  static Result<TrainingData> open(const RunConfig& config, const TokenStores& stores,
                                   const std::vector<int64_t>& rows = {});
};

/// The rows of a batch that devices of `process` hold some of, ascending; all of them where the
/// recipe says so. `processes`: of the device at each position of the mesh.
Result<std::vector<int64_t>> rows_to_read(const RunConfig& config, const Layout& layout,
                                          std::span<const int64_t> processes, int64_t process);

/// Puts a batch on the devices, as the program's "batch.*" arguments are laid out. An error when a
/// row that devices of this process hold is not there. `even`: the layout of even_sharding(), by
/// which each process has its share of the rows; the devices then exchange them.
Result<Tree<Array>> put_batch(Runtime& runtime, const Batch& batch, const CompiledFunction& program,
                              const std::optional<NamedSharding>& even = {});

}  // namespace tessera
