#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/status.h"

namespace tessera {

/// Which documents are held out for validation. At most one of `fraction` and `count` is not 0;
/// both 0 hold out none.
struct ValidationOptions {
  double fraction = 0;  // of the documents, in [0, 1); rounded, but at least one document
  int64_t count = 0;    // documents
  uint64_t seed = 0;
};

struct DocumentSplit {
  std::vector<uint64_t> train;  // numbers of documents, ascending
  std::vector<uint64_t> validation;
};

/// Splits documents 0 … documents-1: every document is in exactly one part. A pure function of its
/// arguments. INVALID_ARGUMENT when the options contradict each other or leave no document to train
/// on.
Result<DocumentSplit> split_documents(int64_t documents, const ValidationOptions& options);

}  // namespace tessera
