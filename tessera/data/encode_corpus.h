#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tessera/base/status.h"
#include "tessera/data/corpus.h"
#include "tessera/data/token_store_manifest.h"
#include "tessera/data/tokenizer.h"

namespace tessera {

/// Some documents in order, encoded.
struct EncodedBlock {
  std::vector<std::vector<int32_t>> documents;  // without bos and eos; none is empty
  /// Of conversations: 1 for each token that is learned, else 0; of other documents nothing.
  std::vector<std::vector<uint8_t>> masks;
  BuildCounts counts;
  CorpusPosition end_position;     // of the corpus, behind this block
  std::vector<std::string> notes;  // of some documents that could not be read: which, and why
  bool end = false;                // there is no more
};

/// Encodes the documents that `reader` gives, on `threads` threads, and hands them to `consume` on
/// the calling thread, in the corpus's order. Empty documents, conversations without anything to
/// learn, and what the options say are skipped and counted. The first error in that order ends it.
Status encode_corpus(CorpusReader& reader, const CorpusOptions& options, const Tokenizer& tokenizer,
                     int threads, const std::function<Status(const EncodedBlock&)>& consume);

}  // namespace tessera
