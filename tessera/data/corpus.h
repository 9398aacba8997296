#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/filesystem.h"
#include "tessera/base/status.h"
#include "tessera/data/chat.h"

namespace tessera {

struct CorpusOptions {
  /// Files, folders, or patterns (see glob.h). A folder means the text files and .jsonl files in
  /// it, at any depth. A .jsonl file has a document on every line, any other file is one document.
  std::vector<std::string> paths;
  /// The key of a JSON line that holds the document's text.
  std::string text_key = "text";
  /// Documents are conversations instead: the JSON lines' "messages", made text by this.
  std::optional<ChatTemplate> chat;
};

struct CorpusFile {
  std::string path;
  int64_t size_bytes = 0;
  bool json_lines = false;
};

/// A document as it stands in its file: not decoded yet, so that many threads can share that work.
struct RawDocument {
  std::string source;  // "folder/a.txt", or "folder/b.jsonl:17"
  std::string bytes;
  bool json = false;
};

struct Document {
  std::string text;             // valid UTF-8
  std::vector<ChatPart> parts;  // of a conversation: together the text; else empty
  int64_t invalid_utf8 = 0;
};

/// The files of a corpus, each once, sorted by path: the same files give the same documents in the
/// same order, however `paths` names them. Errors name the path: one that is missing, a pattern or
/// folder without text files, a kind of file that must be unpacked first.
Result<std::vector<CorpusFile>> find_corpus(FileSystem& files, const CorpusOptions& options);

/// Walks the documents of a corpus, in order. One thread at a time.
class CorpusReader {
 public:
  /// Borrows `files`.
  CorpusReader(FileSystem& files, std::vector<CorpusFile> corpus);

  /// Sets the next document and returns true, or returns false at the end. Blank lines of JSONL are
  /// no documents; an empty text file is one.
  Result<bool> next(RawDocument* document);
  /// Bytes of the corpus that the documents so far were made of.
  int64_t bytes_done() const { return bytes_done_; }

 private:
  Status read_line(std::string* line, bool* found);
  Status fill_buffer();
  void next_file();

  FileSystem& files_;
  std::vector<CorpusFile> corpus_;
  size_t file_ = 0;          // the file to read from
  int64_t offset_ = 0;       // how far that file has been read into buffer_
  std::string buffer_;       // of a JSONL file
  size_t buffer_begin_ = 0;  // where in buffer_ the next line begins
  int64_t line_number_ = 0;
  int64_t bytes_done_ = 0;
};

/// The text of a document. Bytes that are not UTF-8 are replaced and counted. A line that is not a
/// JSON object with a string under options.text_key (a conversation under "messages") is
/// INVALID_ARGUMENT naming file and line.
Result<Document> decode_document(RawDocument raw, const CorpusOptions& options);

}  // namespace tessera
