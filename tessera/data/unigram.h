#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/status.h"
#include "tessera/data/document_split.h"
#include "tessera/data/token_store.h"

namespace tessera {

/// The loss of a model that knows only how often each token occurs: what a trained model must beat.
struct UnigramLoss {
  double train_nats_per_token = 0;       // of the model on what it was fitted to
  double validation_nats_per_token = 0;  // on the validation documents
  int64_t train_targets = 0;
  int64_t validation_targets = 0;
};

/// A store of more tokens than this is judged by every so many-th of its documents.
inline constexpr int64_t kMostUnigramTokens = int64_t{64} << 20;

/// Fits token frequencies to the targets of the training documents, each count plus one, and gives
/// the mean -log(frequency) of targets. Targets are every token of a document but its first, as in
/// PackedExamples, so the figures compare with a trained model's loss. INVALID_ARGUMENT when either
/// part has no target.
Result<UnigramLoss> unigram_loss(const TokenStore& store, const DocumentSplit& split);

}  // namespace tessera
