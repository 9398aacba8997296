#pragma once

#include <memory>
#include <vector>

#include "tessera/base/filesystem.h"
#include "tessera/base/status.h"
#include "tessera/data/build.h"
#include "tessera/data/token_store.h"
#include "tessera/train/config.h"

namespace tessera {

/// What a recipe's data section says about building its store for a task.
BuildOptions build_options(const DataConfig& config, Task task);

/// Logs what is being built, at most every few seconds, with rates.
BuildProgressCallback log_build_progress();

/// The store that a recipe names: opened, or built from its corpus when it is not there. A store
/// that is there but damaged is an error, never rebuilt.
Result<std::shared_ptr<const TokenStore>> open_or_build_store(const DataConfig& config, Task task,
                                                              FileSystem& files);

/// The stores of a recipe's sources, in their order: of one source as open_or_build_store(), of a
/// mixture opened, all with one tokenizer.
Result<std::vector<std::shared_ptr<const TokenStore>>> open_or_build_stores(
    const DataConfig& config, Task task, FileSystem& files);

/// "built runs/tokens: 1,234 tokens of 12 documents ...", for the log and `tessera data build`.
std::string build_summary_text(const std::string& folder, const BuildSummary& summary);

}  // namespace tessera
