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
  int64_t bytes_done = 0;
};

Result<RawBlock> read_block(CorpusReader& reader) {
  RawBlock block;
  const int64_t begin = reader.bytes_done();
  while (reader.bytes_done() - begin < kBlockBytes) {
    RawDocument document;
    ASSIGN_OR_RETURN(const bool found, reader.next(&document));
    if (!found) break;
    block.documents.push_back(std::move(document));
  }
  block.bytes_done = reader.bytes_done();
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

Result<EncodedBlock> encode_block(RawBlock raw, const CorpusOptions& options,
                                  const Tokenizer& tokenizer) {
  EncodedBlock block = {.bytes_done = raw.bytes_done, .end = raw.documents.empty()};
  for (RawDocument& document : raw.documents) {
    const std::string source = document.source;
    ASSIGN_OR_RETURN(const Document decoded, decode_document(std::move(document), options));
    block.counts.invalid_utf8 += decoded.invalid_utf8;
    Result<Encoded> encoded = encode_document(decoded, tokenizer);
    if (!encoded.ok()) return annotate(encoded.status(), source);
    const std::vector<uint8_t>& mask = encoded->mask;
    if (encoded->ids.empty()) {
      ++block.counts.skipped["empty"];
      continue;
    }
    if (options.chat && std::find(mask.begin(), mask.end(), 1) == mask.end()) {
      ++block.counts.skipped["no assistant message"];
      continue;
    }
    block.counts.text_bytes += decoded.text.size();
    block.documents.push_back(std::move(encoded->ids));
    if (options.chat) block.masks.push_back(std::move(encoded->mask));
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
