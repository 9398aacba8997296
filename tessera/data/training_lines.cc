#include "tessera/data/training_lines.h"

#include <cmath>
#include <limits>
#include <utility>

#include "tessera/data/permutation.h"

namespace tessera {
namespace {

// SentencePiece leaves out sentences above its max_sentence_length.
constexpr size_t kLongestLine = 32768;

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
    : reader_(files, corpus), options_(options) {
  for (const CorpusFile& file : corpus) bytes_total_ += file.size_bytes;
  threshold_ = threshold(sample_bytes, bytes_total_);
}

bool TrainingLines::next_document() {
  RawDocument raw;
  const Result<bool> found = reader_.next(&raw);
  if (!found.ok()) status_ = found.status();
  if (!found.ok() || !*found) return false;
  Result<Document> document = decode_document(std::move(raw), options_);
  if (!document.ok()) {
    status_ = document.status();
    return false;
  }
  document_ = *std::move(document);
  begin_ = 0;
  return true;
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
