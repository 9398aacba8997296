#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/status.h"
#include "tessera/data/corpus.h"

namespace tessera {

/// Streams an even sample of a corpus's lines, to train a tokenizer on. A pure function of the
/// corpus: line n is taken or not by a hash of n. Very long lines are cut. One thread at a time.
class TrainingLines {
 public:
  /// Takes about `sample_bytes` of the corpus. Borrows `files`.
  TrainingLines(FileSystem& files, std::vector<CorpusFile> corpus, const CorpusOptions& options,
                int64_t sample_bytes);

  /// The next line, valid until the next call; nothing at the end, or after an error.
  std::optional<std::string_view> next();
  /// What ended it.
  const Status& status() const { return status_; }
  int64_t bytes_done() const { return reader_.bytes_done(); }
  int64_t bytes_total() const { return bytes_total_; }

 private:
  bool next_document();
  std::string_view cut_line();

  CorpusReader reader_;
  const CorpusOptions options_;
  int64_t bytes_total_ = 0;
  uint64_t threshold_;  // lines whose hash is not above it are taken
  Document document_;
  size_t begin_ = 0;  // of the next line in document_
  uint64_t line_number_ = 0;
  Status status_;
};

}  // namespace tessera
