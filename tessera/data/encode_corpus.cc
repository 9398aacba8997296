#include "tessera/data/encode_corpus.h"

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

Result<EncodedBlock> encode_block(RawBlock raw, const std::string& text_key,
                                  const Tokenizer& tokenizer) {
  EncodedBlock block = {.bytes_done = raw.bytes_done, .end = raw.documents.empty()};
  for (RawDocument& document : raw.documents) {
    const std::string source = document.source;
    ASSIGN_OR_RETURN(const Document decoded, decode_document(std::move(document), text_key));
    block.counts.invalid_utf8 += decoded.invalid_utf8;
    std::vector<int32_t> ids;
    RETURN_IF_ERROR(annotate(tokenizer.encode(decoded.text, &ids), source));
    if (ids.empty()) {
      ++block.counts.skipped["empty"];
      continue;
    }
    block.counts.text_bytes += decoded.text.size();
    block.documents.push_back(std::move(ids));
  }
  return block;
}

}  // namespace

Status encode_corpus(CorpusReader& reader, const std::string& text_key, const Tokenizer& tokenizer,
                     int threads, const std::function<Status(const EncodedBlock&)>& consume) {
  using Workers = OrderedWorkers<Result<RawBlock>, Result<EncodedBlock>>;
  Workers workers({.name = "encode",
                   .workers = threads,
                   .ahead = 4 * threads,
                   .take = [&] { return read_block(reader); },
                   .make = [&](Result<RawBlock> raw) -> Result<EncodedBlock> {
                     if (!raw.ok()) return raw.status();
                     return encode_block(*std::move(raw), text_key, tokenizer);
                   }});
  while (true) {
    ASSIGN_OR_RETURN(const EncodedBlock block, workers.next());
    if (block.end) return {};
    RETURN_IF_ERROR(consume(block));
  }
}

}  // namespace tessera
