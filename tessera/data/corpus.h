#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/filesystem.h"
#include "tessera/base/status.h"
#include "tessera/data/byte_source.h"
#include "tessera/data/chat.h"
#include "tessera/data/parquet.h"

namespace tessera {

struct CorpusOptions {
  /// Files, folders, or patterns (see glob.h). A folder means the text, .jsonl and .parquet files
  /// in it, at any depth. A .jsonl file has a document on every line, a .parquet file in every row,
  /// any other file is one document. All but Parquet may be packed, with .gz or .zst behind.
  std::vector<std::string> paths;
  /// The key of a JSON line, or the column, that holds the document's text.
  std::string text_key = "text";
  /// Documents are conversations instead: what stands under "messages", made text by this.
  std::optional<ChatTemplate> chat;
  /// Leave documents out, and count them by reason, that cannot be read: no JSON, no such key, of
  /// the wrong type. Without it the first one ends the work.
  bool skip_bad = false;
  /// Leave out, and count, documents with more bytes of text; 0: none.
  int64_t max_document_bytes = 0;
};

enum class CorpusFormat { kText, kJsonLines, kParquet };

struct CorpusFile {
  std::string path;
  int64_t size_bytes = 0;  // as it lies on the disk
  CorpusFormat format = CorpusFormat::kText;
};

/// Where a reader stands between two documents.
struct CorpusPosition {
  int64_t file = 0;
  int64_t offset = 0;      // in the file: unpacked bytes of JSON lines, rows of Parquet
  int64_t line = 0;        // lines read of the file
  int64_t bytes_done = 0;  // of the corpus

  bool operator==(const CorpusPosition&) const = default;
};

enum class RawKind {
  kText,      // text
  kJsonLine,  // a JSON object
  kColumn,    // the value of a column: text, or the JSON of a conversation
  kNull,      // a column without a value
};

/// A document as it stands in its file: not decoded yet, so that many threads can share that work.
struct RawDocument {
  std::string source;  // "folder/a.txt", or "folder/b.jsonl:17"
  std::string bytes;
  RawKind kind = RawKind::kText;
};

struct Document {
  std::string text;             // valid UTF-8
  std::vector<ChatPart> parts;  // of a conversation: together the text; else empty
  int64_t invalid_utf8 = 0;
};

/// The files of a corpus, each once, sorted by path: the same files give the same documents in the
/// same order, however `paths` names them. Errors name the path: one that is missing, a pattern or
/// folder without text files, a kind of packed file that is not read.
Result<std::vector<CorpusFile>> find_corpus(FileSystem& files, const CorpusOptions& options);

/// Walks the documents of a corpus, in order. One thread at a time.
class CorpusReader {
 public:
  /// Borrows `files`.
  CorpusReader(FileSystem& files, std::vector<CorpusFile> corpus,
               const CorpusOptions& options = {});
  ~CorpusReader();

  /// Sets the next document and returns true, or returns false at the end. Blank lines of JSONL are
  /// no documents; an empty text file is one.
  Result<bool> next(RawDocument* document);
  /// Bytes of the corpus that the documents so far were made of.
  int64_t bytes_done() const;
  /// Where it stands, for seek() of another reader of the same corpus; before the first next() and
  /// after any.
  CorpusPosition position() const;
  /// Goes on from a position, before the first next(). Packed files and Parquet are read up to it.
  Status seek(const CorpusPosition& position);

 private:
  Result<bool> next_line(const CorpusFile& file, RawDocument* document);
  Result<bool> next_row(const CorpusFile& file, RawDocument* document);
  Status open_file();
  Status fill_buffer(bool* end);
  void close_file();

  FileSystem& files_;
  const std::vector<CorpusFile> corpus_;
  const std::string column_;
  size_t file_ = 0;                     // the file to read from
  int64_t files_bytes_ = 0;             // of the files before it
  std::unique_ptr<ByteSource> source_;  // of the JSON lines that are being read
  std::unique_ptr<ParquetRows> rows_;
  std::string buffer_;       // what was read of source_ and not given out yet
  size_t buffer_begin_ = 0;  // where in buffer_ the next line begins
  int64_t offset_ = 0;       // as in CorpusPosition
  int64_t line_ = 0;
};

/// The key, or column, of a conversation.
inline constexpr std::string_view kMessagesKey = "messages";

/// The text of a document. Bytes that are not UTF-8 are replaced and counted. A line that is not a
/// JSON object with a string under options.text_key (a conversation under "messages") is
/// INVALID_ARGUMENT naming file and line; then `reason`, where given, says in a few words why, the
/// same ones for all such documents.
Result<Document> decode_document(RawDocument raw, const CorpusOptions& options,
                                 std::string* reason = nullptr);

}  // namespace tessera
