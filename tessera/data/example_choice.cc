#include "tessera/data/example_choice.h"

#include "tessera/base/crc32c.h"

namespace tessera {

Status ExampleChoice::check() const {
  if (length < 1)
    return invalid_argument("the sequence length is ", length, ", must be at least 1");
  if (masked && !store->has_loss_mask()) {
    return failed_precondition(
        store->folder(),
        " does not say which tokens to learn: build it from conversations (JSON "
        "lines with \"messages\") with task sft");
  }
  if (!documents.has_value()) return {};
  if (documents->empty()) return invalid_argument("no document is chosen of ", store->folder());
  const std::span<const uint64_t> starts = store->document_starts();
  for (const uint64_t document : *documents) {
    if (document >= static_cast<uint64_t>(store->documents())) {
      return absl::OutOfRangeError(str_cat("document ", document, " is not in ", store->folder()));
    }
    const uint64_t begin = starts[document], end = starts[document + 1];
    if (begin > end || end > static_cast<uint64_t>(store->tokens()))
      return damaged_documents(*store, document);
  }
  return {};
}

std::string ExampleChoice::fingerprint(std::string_view way) const {
  std::string text = str_cat(store->fingerprint(), "/", length);
  if (!way.empty()) str_append(&text, "/", way);
  if (masked) text += "/masked";
  if (documents.has_value()) str_append(&text, "/", crc32c(std::as_bytes(std::span(*documents))));
  return text;
}

Status damaged_documents(const TokenStore& store, uint64_t near) {
  return data_loss(store.folder(), "/", kDocumentsFile, ": damaged near document ", near,
                   "; copy the store again, or build it again");
}

}  // namespace tessera
