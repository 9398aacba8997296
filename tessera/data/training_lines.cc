#include "tessera/data/training_lines.h"

#include <cmath>
#include <limits>
#include <utility>

#include "tessera/data/permutation.h"

namespace tessera {
namespace {

// SentencePiece leaves out sentences above its max_sentence_length.
constexpr size_t kLongestLine = 32768;
constexpr int64_t kPacked = 4;  // about how many bytes of text become one

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

uint64_t threshold(int64_t sample_bytes, int64_t total_bytes) {
  constexpr uint64_t kAll = std::numeric_limits<uint64_t>::max();
  if (sample_bytes >= total_bytes) return kAll;
  const double share = static_cast<double>(sample_bytes) / static_cast<double>(total_bytes);
  return static_cast<uint64_t>(std::ldexp(share, 64));
}

}  // namespace

TrainingLines::TrainingLines(FileSystem& files, std::vector<CorpusFile> corpus,
                             const CorpusOptions& options, int64_t sample_bytes)
    : reader_(files, corpus, options), options_(options) {
  int64_t text_bytes = 0;
  for (const CorpusFile& file : corpus) {
    const bool packed =
        file.format == CorpusFormat::kParquet || unpacked_name(file.path) != file.path;
    bytes_total_ += file.size_bytes;
    text_bytes += file.size_bytes * (packed ? kPacked : 1);
  }
  threshold_ = threshold(sample_bytes, text_bytes);
}

bool TrainingLines::next_document() {
  while (true) {
    RawDocument raw;
    const Result<bool> found = reader_.next(&raw);
    if (!found.ok()) status_ = found.status();
    if (!found.ok() || !*found) return false;
    std::string reason;
    Result<Document> document = decode_document(std::move(raw), options_, &reason);
    if (!document.ok() && options_.skip_bad && !reason.empty()) continue;
    if (!document.ok()) {
      status_ = document.status();
      return false;
    }
    const auto bytes = static_cast<int64_t>(document->text.size());
    if (options_.max_document_bytes > 0 && bytes > options_.max_document_bytes) continue;
    document_ = *std::move(document);
    begin_ = 0;
    return true;
  }
}

std::string_view TrainingLines::cut_line() {
  const std::string_view rest = std::string_view(document_.text).substr(begin_);
  size_t length = std::min(rest.find('\n'), rest.size());
  if (length > kLongestLine) {
    length = kLongestLine;
    while (continues_character(rest[length])) --length;
    begin_ += length;
  } else {
    begin_ += length + 1;
  }
  return rest.substr(0, length);
}

std::optional<std::string_view> TrainingLines::next() {
  while (status_.ok()) {
    while (begin_ < document_.text.size()) {
      const std::string_view line = cut_line();
      const bool taken = mix64(line_number_++) <= threshold_;
      if (taken && !line.empty()) return line;
    }
    if (!next_document()) break;
  }
  return std::nullopt;
}

}  // namespace tessera
