#include "tessera/data/unigram.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tessera {
namespace {

using Counts = std::vector<int64_t>;

Result<Counts> count_targets(const TokenStore& store, std::span<const uint64_t> documents) {
  Counts counts(store.manifest().vocab_size, 0);
  for (const uint64_t document : documents) {
    ASSIGN_OR_RETURN(const std::vector<int32_t> tokens, store.document(document));
    RETURN_IF_ERROR(annotate(check_token_ids(tokens, store.manifest().vocab_size),
                             str_cat(store.folder(), ": document ", document)));
    for (size_t i = 1; i < tokens.size(); ++i) ++counts[tokens[i]];
  }
  return counts;
}

int64_t sum(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

double cross_entropy(const Counts& counts, const Counts& model) {
  const double all = static_cast<double>(sum(model)) + static_cast<double>(model.size());
  double nats = 0;
  for (size_t id = 0; id < counts.size(); ++id) {
    nats -= static_cast<double>(counts[id]) * std::log((static_cast<double>(model[id]) + 1) / all);
  }
  return nats / static_cast<double>(sum(counts));
}

// Every so many-th of them where a start would else wait for the reading of a large store.
std::vector<uint64_t> sample(const TokenStore& store, const std::vector<uint64_t>& documents) {
  const auto stride =
      static_cast<size_t>((store.tokens() + kMostUnigramTokens - 1) / kMostUnigramTokens);
  std::vector<uint64_t> sampled;
  for (size_t i = 0; i < documents.size(); i += std::max<size_t>(stride, 1))
    sampled.push_back(documents[i]);
  return sampled;
}

}  // namespace

Result<UnigramLoss> unigram_loss(const TokenStore& store, const DocumentSplit& split) {
  ASSIGN_OR_RETURN(const Counts train, count_targets(store, sample(store, split.train)));
  ASSIGN_OR_RETURN(const Counts validation, count_targets(store, sample(store, split.validation)));
  UnigramLoss loss = {.train_targets = sum(train), .validation_targets = sum(validation)};
  if (loss.train_targets == 0 || loss.validation_targets == 0) {
    return invalid_argument("unigram model: ", loss.train_targets, " training and ",
                            loss.validation_targets, " validation targets; both parts need some");
  }
  loss.train_nats_per_token = cross_entropy(train, train);
  loss.validation_nats_per_token = cross_entropy(validation, train);
  return loss;
}

}  // namespace tessera
