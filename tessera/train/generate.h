#pragma once

#include <string>
#include <vector>

#include "tessera/base/filesystem.h"
#include "tessera/data/tokenizer.h"
#include "tessera/train/session.h"

namespace tessera {

struct GenerateOptions {
  std::string prompt;
  int64_t max_tokens = 200;  ///< that are added to the prompt
  double temperature = 0.8;  ///< 0: always the likeliest token
  int64_t top_k = 40;        ///< draw from the likeliest k only; 0: from all
  uint64_t seed = 0;
  std::optional<int64_t> step;  ///< of the checkpoint; the newest good one unless given
};

struct Generated {
  int64_t step = 0;  ///< of the checkpoint
  std::vector<int32_t> tokens;
  std::string text;  ///< without the prompt
};

/// Continues a prompt with the model of a checkpoint of the session's run. The whole window of
/// training.sequence_length tokens is computed anew for each token, without a cache: meant to look
/// at a model, not to serve it. The draw of token i depends on the seed and i only. Errors: no
/// checkpoint, a prompt longer than the window.
Result<Generated> generate(Session& session, const Tokenizer& tokenizer, FileSystem& files,
                           const GenerateOptions& options);

}  // namespace tessera
