#include "tessera/data/document_split.h"

#include <algorithm>
#include <cmath>

#include "tessera/data/permutation.h"

namespace tessera {
namespace {

Result<int64_t> held_out(int64_t documents, const ValidationOptions& options) {
  if (options.fraction != 0 && options.count != 0) {
    return invalid_argument("validation: give a fraction or a count of documents, not both");
  }
  if (!(options.fraction >= 0 && options.fraction < 1)) {
    return invalid_argument("validation: the fraction is ", options.fraction,
                            ", must be in [0, 1)");
  }
  if (options.count < 0) {
    return invalid_argument("validation: the count is ", options.count, ", must not be negative");
  }
  if (options.fraction == 0) return options.count;
  return std::max<int64_t>(1, std::llround(options.fraction * static_cast<double>(documents)));
}

}  // namespace

Result<DocumentSplit> split_documents(int64_t documents, const ValidationOptions& options) {
  if (documents < 1) return invalid_argument("validation: there is no document to split");
  ASSIGN_OR_RETURN(const int64_t count, held_out(documents, options));
  if (count >= documents) {
    return invalid_argument("validation: holding out ", count, " of ", documents,
                            " documents leaves none to train on; hold out fewer");
  }
  const KeyedPermutation rank(documents, options.seed);
  DocumentSplit split;
  for (int64_t document = 0; document < documents; ++document) {
    const bool validates = rank(document) < static_cast<uint64_t>(count);
    (validates ? split.validation : split.train).push_back(document);
  }
  return split;
}

}  // namespace tessera
