#pragma once

#include <string>
#include <vector>

#include "tessera/base/status.h"
#include "tessera/data/build.h"

namespace tessera {

/// What a store is built from: tells whether a build that died was this one. Of inputs it knows
/// path, size and time of change; of a tokenizer's model, `model_files`, every byte. Not the number
/// of threads.
Result<std::string> build_key(FileSystem& files, const BuildOptions& options,
                              const std::vector<CorpusFile>& corpus);

/// Where a build stands: what it writes into the unfinished store.
struct BuildPosition {
  CorpusPosition position;
  BuildCounts counts;

  std::string to_text() const;
};

Result<BuildPosition> parse_build_position(const std::string& text);

}  // namespace tessera
