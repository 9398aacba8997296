#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/status.h"
#include "tessera/data/token_store.h"

/// What examples are made of, whichever way documents are put into rows.
namespace tessera {

struct ExampleChoice {
  std::shared_ptr<const TokenStore> store;
  std::optional<std::vector<uint64_t>> documents;  // numbers, ascending; none: all
  int64_t length = 0;                              // tokens a row
  bool masked = false;  // only targets that the store's loss mask counts have a weight

  /// INVALID_ARGUMENT when length is below 1 or no document is chosen; OUT_OF_RANGE for a number
  /// that the store has not; FAILED_PRECONDITION for `masked` of a store without mask; DATA_LOSS
  /// where a chosen document does not lie within the store.
  Status check() const;
  /// Differs when store, length, mask, documents or the way of packing (empty: back to back) do.
  std::string fingerprint(std::string_view way = "") const;
};

/// DATA_LOSS: the store's table of documents is not as it was written.
Status damaged_documents(const TokenStore& store, uint64_t near);

}  // namespace tessera
