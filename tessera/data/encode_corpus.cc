#include "tessera/data/encode_corpus.h"

#include <algorithm>
#include <utility>

#include "tessera/data/ordered_workers.h"

namespace tessera {
namespace {

// Enough to make handing over cheap, little enough to share out a small corpus.
constexpr int64_t kBlockBytes = int64_t{1} << 17;

struct RawBlock {
  std::vector<RawDocument> documents;
  CorpusPosition end_position;
};

Result<RawBlock> read_block(CorpusReader& reader) {
  RawBlock block;
  for (int64_t bytes = 0; bytes < kBlockBytes;) {
    RawDocument document;
    ASSIGN_OR_RETURN(const bool found, reader.next(&document));
    if (!found) break;
    bytes += static_cast<int64_t>(document.bytes.size()) + 1;
    block.documents.push_back(std::move(document));
  }
  block.end_position = reader.position();
  return block;
}

// The tokens of a document, and of a conversation which of them are learned.
struct Encoded {
  std::vector<int32_t> ids;
  std::vector<uint8_t> mask;
};

Result<Encoded> encode_document(const Document& document, const Tokenizer& tokenizer) {
  Encoded encoded;
  if (document.parts.empty()) {
    RETURN_IF_ERROR(tokenizer.encode(document.text, &encoded.ids));
    return encoded;
  }
  for (const ChatPart& part : document.parts) {
    RETURN_IF_ERROR(tokenizer.encode(part.text, &encoded.ids));
    encoded.mask.resize(encoded.ids.size(), part.learned ? 1 : 0);
  }
  return encoded;
}

constexpr size_t kMostNotes = 3;  // of a block

// Adds a document to the block, or counts why it is left out.
Status add_document(RawDocument raw, const CorpusOptions& options, const Tokenizer& tokenizer,
                    EncodedBlock* block) {
  const std::string source = raw.source;
  std::string reason;
  const Result<Document> decoded = decode_document(std::move(raw), options, &reason);
  if (!decoded.ok()) {
    if (!options.skip_bad || reason.empty()) return decoded.status();
    ++block->counts.skipped[reason];
    if (block->notes.size() < kMostNotes) block->notes.emplace_back(decoded.status().message());
    return {};
  }
  const auto bytes = static_cast<int64_t>(decoded->text.size());
  if (options.max_document_bytes > 0 && bytes > options.max_document_bytes) {
    ++block->counts.skipped[str_cat("longer than ", options.max_document_bytes, " bytes")];
    return {};
  }
  block->counts.invalid_utf8 += decoded->invalid_utf8;
  Result<Encoded> encoded = encode_document(*decoded, tokenizer);
  if (!encoded.ok()) return annotate(encoded.status(), source);
  const std::vector<uint8_t>& mask = encoded->mask;
  if (encoded->ids.empty()) {
    ++block->counts.skipped["empty"];
    return {};
  }
  if (options.chat && std::find(mask.begin(), mask.end(), 1) == mask.end()) {
    ++block->counts.skipped["no assistant message"];
    return {};
  }
  block->counts.text_bytes += bytes;
  block->documents.push_back(std::move(encoded->ids));
  if (options.chat) block->masks.push_back(std::move(encoded->mask));
  return {};
}

Result<EncodedBlock> encode_block(RawBlock raw, const CorpusOptions& options,
                                  const Tokenizer& tokenizer) {
  EncodedBlock block = {.end_position = raw.end_position, .end = raw.documents.empty()};
  for (RawDocument& document : raw.documents) {
    RETURN_IF_ERROR(add_document(std::move(document), options, tokenizer, &block));
  }
  return block;
}

}  // namespace

Status encode_corpus(CorpusReader& reader, const CorpusOptions& options, const Tokenizer& tokenizer,
                     int threads, const std::function<Status(const EncodedBlock&)>& consume) {
  using Workers = OrderedWorkers<Result<RawBlock>, Result<EncodedBlock>>;
  Workers workers({.name = "encode",
                   .workers = threads,
                   .ahead = 4 * threads,
                   .take = [&] { return read_block(reader); },
                   .make = [&](Result<RawBlock> raw) -> Result<EncodedBlock> {
                     if (!raw.ok()) return raw.status();
                     return encode_block(*std::move(raw), options, tokenizer);
                   }});
  while (true) {
    ASSIGN_OR_RETURN(const EncodedBlock block, workers.next());
    if (block.end) return {};
    RETURN_IF_ERROR(consume(block));
  }
}

}  // namespace tessera
