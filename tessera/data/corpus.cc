#include "tessera/data/corpus.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "tessera/data/glob.h"
#include "tessera/data/utf8.h"

namespace tessera {
namespace {

constexpr std::string_view kTextEndings[] = {".txt", ".text", ".rst", ".md", ".markdown", ".jsonl"};
constexpr std::string_view kPackedEndings[] = {".gz", ".zst", ".bz2", ".xz", ".zip", ".parquet"};
constexpr int64_t kReadBytes = int64_t{1} << 20;

template <size_t kCount>
bool ends_with_any(std::string_view path, const std::string_view (&endings)[kCount]) {
  return std::any_of(std::begin(endings), std::end(endings),
                     [&](std::string_view ending) { return path.ends_with(ending); });
}

Result<std::vector<std::string>> files_of_path(FileSystem& files, const std::string& path) {
  if (is_glob(path)) {
    ASSIGN_OR_RETURN(std::vector<std::string> found, expand_glob(files, path));
    if (found.empty()) return not_found("corpus: no file matches ", path);
    return found;
  }
  const Result<FileInfo> info = files.stat(path);
  if (!info.ok()) return annotate(info.status(), "corpus");
  if (!info->is_directory) return std::vector<std::string>{path};
  ASSIGN_OR_RETURN(std::vector<std::string> found, list_files(files, path));
  std::erase_if(found, [](const std::string& file) { return !ends_with_any(file, kTextEndings); });
  if (!found.empty()) return found;
  return not_found("corpus: the folder ", path,
                   " has no .txt, .text, .rst, .md, .markdown or .jsonl",
                   " file; name files of other kinds by a pattern, such as ", path, "/**.log");
}

}  // namespace

Result<std::vector<CorpusFile>> find_corpus(FileSystem& files, const CorpusOptions& options) {
  if (options.paths.empty()) return invalid_argument("corpus: no file, folder or pattern is given");
  std::vector<std::string> paths;
  for (const std::string& path : options.paths) {
    ASSIGN_OR_RETURN(const std::vector<std::string> found, files_of_path(files, path));
    paths.insert(paths.end(), found.begin(), found.end());
  }
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  std::vector<CorpusFile> corpus;
  for (const std::string& path : paths) {
    if (ends_with_any(path, kPackedEndings)) {
      return unimplemented("corpus: ", path, " is packed: unpack it to text or JSONL first");
    }
    ASSIGN_OR_RETURN(const int64_t size, files.file_size(path));
    corpus.push_back({path, size, path.ends_with(".jsonl")});
  }
  return corpus;
}

CorpusReader::CorpusReader(FileSystem& files, std::vector<CorpusFile> corpus)
    : files_(files), corpus_(std::move(corpus)) {}

Result<bool> CorpusReader::next(RawDocument* document) {
  for (; file_ < corpus_.size(); next_file()) {
    const CorpusFile& file = corpus_[file_];
    document->json = file.json_lines;
    if (!file.json_lines) {
      ASSIGN_OR_RETURN(document->bytes, files_.read_file(file.path));
      document->source = file.path;
      bytes_done_ += file.size_bytes;
      next_file();
      return true;
    }
    bool found = false;
    RETURN_IF_ERROR(read_line(&document->bytes, &found));
    if (found) {
      document->source = str_cat(file.path, ":", line_number_);
      return true;
    }
  }
  return false;
}

void CorpusReader::next_file() {
  ++file_;
  offset_ = 0;
  line_number_ = 0;
  buffer_.clear();
  buffer_begin_ = 0;
}

Status CorpusReader::fill_buffer() {
  const CorpusFile& file = corpus_[file_];
  buffer_.erase(0, buffer_begin_);
  buffer_begin_ = 0;
  const size_t kept = buffer_.size();
  const int64_t count = std::min(kReadBytes, file.size_bytes - offset_);
  buffer_.resize(kept + count);
  RETURN_IF_ERROR(files_.read_range(file.path, offset_,
                                    std::as_writable_bytes(std::span(buffer_)).subspan(kept)));
  offset_ += count;
  return {};
}

Status CorpusReader::read_line(std::string* line, bool* found) {
  size_t searched = 0;  // of the unread part of buffer_, bytes known to hold no newline
  while (true) {
    const bool file_read = offset_ == corpus_[file_].size_bytes;
    size_t end = buffer_.find('\n', buffer_begin_ + searched);
    if (end == std::string::npos && file_read) end = buffer_.size();
    if (end == std::string::npos) {
      searched = buffer_.size() - buffer_begin_;
      RETURN_IF_ERROR(fill_buffer());
      continue;
    }
    if (buffer_begin_ >= buffer_.size() && file_read) return {};  // the end: *found stays false
    line->assign(buffer_, buffer_begin_, end - buffer_begin_);
    bytes_done_ += std::min(end + 1, buffer_.size()) - buffer_begin_;
    buffer_begin_ = end + 1;
    searched = 0;
    ++line_number_;
    *found = line->find_first_not_of(" \t\r") != std::string::npos;
    if (*found) return {};
  }
}

namespace {

Result<Json> parse_line(const RawDocument& raw) {
  Json line;
  try {
    line = Json::parse(raw.bytes);
  } catch (const nlohmann::json::parse_error& error) {
    return invalid_argument(raw.source, ": not valid JSON at byte ", error.byte, " of the line");
  }
  if (!line.is_object()) return invalid_argument(raw.source, ": the line is not a JSON object");
  return line;
}

Status decode_chat(const Json& line, const RawDocument& raw, const ChatTemplate& format,
                   Document* document) {
  const auto messages = line.find("messages");
  if (messages == line.end()) {
    return invalid_argument(raw.source, ": no key \"messages\", which holds a conversation");
  }
  Result<std::vector<ChatPart>> parts = render_chat(*messages, format);
  if (!parts.ok()) return annotate(parts.status(), raw.source);
  document->parts = *std::move(parts);
  for (const ChatPart& part : document->parts) document->text += part.text;
  return absl::OkStatus();
}

}  // namespace

Result<Document> decode_document(RawDocument raw, const CorpusOptions& options) {
  Document document;
  document.invalid_utf8 = replace_invalid_utf8(&raw.bytes);
  if (!raw.json) {
    if (options.chat) {
      return invalid_argument(raw.source,
                              ": conversations are JSON lines: name the file something.jsonl");
    }
    document.text = std::move(raw.bytes);
    return document;
  }
  ASSIGN_OR_RETURN(Json line, parse_line(raw));
  if (options.chat) {
    RETURN_IF_ERROR(decode_chat(line, raw, *options.chat, &document));
    return document;
  }
  const auto text = line.find(options.text_key);
  if (text == line.end()) {
    return invalid_argument(raw.source, ": no key \"", options.text_key,
                            "\"; name the one that holds the text");
  }
  if (!text->is_string()) {
    return invalid_argument(raw.source, ": \"", options.text_key, "\" holds ", text->type_name(),
                            ", not a string");
  }
  document.text = std::move(text->get_ref<std::string&>());
  return document;
}

}  // namespace tessera
