#include "tessera/data/corpus.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tessera/data/glob.h"

namespace tessera {
namespace {

constexpr std::string_view kTextEndings[] = {".txt", ".text", ".rst", ".md", ".markdown", ".jsonl"};
constexpr std::string_view kJsonLines = ".jsonl";
constexpr std::string_view kParquet = ".parquet";
constexpr std::string_view kUnreadEndings[] = {".bz2", ".xz",  ".zip", ".7z",  ".tar",
                                               ".tgz", ".lz4", ".orc", ".avro"};
constexpr size_t kReadBytes = size_t{1} << 20;

template <size_t kCount>
bool ends_with_any(std::string_view path, const std::string_view (&endings)[kCount]) {
  return std::any_of(std::begin(endings), std::end(endings),
                     [&](std::string_view ending) { return path.ends_with(ending); });
}

// Whether a folder means the file too.
bool is_corpus_file(std::string_view path) {
  return path.ends_with(kParquet) || ends_with_any(unpacked_name(path), kTextEndings);
}

// Without "." and empty parts, so that a file has one name: it is read once, and stands where it
// should among the others.
std::string plain_path(std::string_view path) {
  if (path.find("://") != std::string_view::npos) return std::string(path);
  std::string plain = path.starts_with('/') ? "/" : "";
  while (!path.empty()) {
    const size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    if (!part.empty() && part != ".") plain = join_path(plain, part);
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return plain.empty() ? "." : plain;
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
  std::erase_if(found, [](const std::string& file) { return !is_corpus_file(file); });
  if (!found.empty()) return found;
  return not_found("corpus: the folder ", path,
                   " has no .txt, .text, .rst, .md, .markdown, .jsonl or .parquet",
                   " file; name files of other kinds by a pattern, such as ", path, "/**.log");
}

CorpusFormat format_of(std::string_view path) {
  if (path.ends_with(kParquet)) return CorpusFormat::kParquet;
  return unpacked_name(path).ends_with(kJsonLines) ? CorpusFormat::kJsonLines : CorpusFormat::kText;
}

Result<std::string> read_all(FileSystem& files, const std::string& path) {
  if (unpacked_name(path) == path) return files.read_file(path);
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteSource> source, open_bytes(files, path));
  std::string bytes;
  for (size_t done = 0;;) {
    bytes.resize(done + kReadBytes);
    ASSIGN_OR_RETURN(const size_t count, source->read(std::span(bytes).subspan(done)));
    done += count;
    if (count > 0) continue;
    bytes.resize(done);
    return bytes;
  }
}

}  // namespace

Result<std::vector<CorpusFile>> find_corpus(FileSystem& files, const CorpusOptions& options) {
  if (options.paths.empty()) return invalid_argument("corpus: no file, folder or pattern is given");
  std::vector<std::string> paths;
  for (const std::string& path : options.paths) {
    if (path.empty()) return invalid_argument("corpus: an empty path is given");
    ASSIGN_OR_RETURN(const std::vector<std::string> found, files_of_path(files, plain_path(path)));
    for (const std::string& file : found) paths.push_back(plain_path(file));
  }
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  std::vector<CorpusFile> corpus;
  for (const std::string& path : paths) {
    if (ends_with_any(path, kUnreadEndings)) {
      return unimplemented("corpus: ", path, " is of a kind that is not read: make it text, JSONL ",
                           "or Parquet first; .gz and .zst may stay packed");
    }
    ASSIGN_OR_RETURN(const int64_t size, files.file_size(path));
    if (size == 0) RETURN_IF_ERROR(annotate(files.open_file(path).status(), "corpus"));  // a pipe
    corpus.push_back({path, size, format_of(path)});
  }
  return corpus;
}

CorpusReader::CorpusReader(FileSystem& files, std::vector<CorpusFile> corpus,
                           const CorpusOptions& options)
    : files_(files),
      corpus_(std::move(corpus)),
      column_(options.chat ? std::string(kMessagesKey) : options.text_key) {}

CorpusReader::~CorpusReader() = default;

int64_t CorpusReader::bytes_done() const {
  if (file_ >= corpus_.size()) return files_bytes_;
  const int64_t size = corpus_[file_].size_bytes;
  if (rows_) return files_bytes_ + size * offset_ / std::max<int64_t>(rows_->rows(), 1);
  if (!source_) return files_bytes_;
  const bool packed = unpacked_name(corpus_[file_].path) != corpus_[file_].path;
  return files_bytes_ + std::min(packed ? source_->file_bytes() : offset_, size);
}

CorpusPosition CorpusReader::position() const {
  return {static_cast<int64_t>(file_), offset_, line_, bytes_done()};
}

Status CorpusReader::seek(const CorpusPosition& position) {
  CHECK(position.file <= static_cast<int64_t>(corpus_.size()));
  for (; static_cast<int64_t>(file_) < position.file; ++file_) {
    files_bytes_ += corpus_[file_].size_bytes;
  }
  if (position.offset == 0) return {};
  RETURN_IF_ERROR(open_file());
  if (rows_) RETURN_IF_ERROR(rows_->skip(position.offset));
  std::vector<char> skipped(kReadBytes);
  for (int64_t left = position.offset; source_ && left > 0;) {
    const auto most = static_cast<size_t>(std::min<int64_t>(left, kReadBytes));
    ASSIGN_OR_RETURN(const size_t count, source_->read(std::span(skipped).first(most)));
    if (count == 0) return data_loss(corpus_[file_].path, " is shorter than it was");
    left -= static_cast<int64_t>(count);
  }
  offset_ = position.offset;
  line_ = position.line;
  return {};
}

Result<bool> CorpusReader::next(RawDocument* document) {
  for (; file_ < corpus_.size(); close_file()) {
    const CorpusFile& file = corpus_[file_];
    if (file.format == CorpusFormat::kText) {
      ASSIGN_OR_RETURN(document->bytes, read_all(files_, file.path));
      document->source = file.path;
      document->kind = RawKind::kText;
      close_file();
      return true;
    }
    if (!source_ && !rows_) RETURN_IF_ERROR(open_file());
    ASSIGN_OR_RETURN(const bool found,
                     rows_ ? next_row(file, document) : next_line(file, document));
    if (found) return true;
  }
  return false;
}

Status CorpusReader::open_file() {
  const CorpusFile& file = corpus_[file_];
  if (file.format == CorpusFormat::kParquet) {
    ASSIGN_OR_RETURN(rows_, ParquetRows::open(file.path, column_));
    return {};
  }
  ASSIGN_OR_RETURN(source_, open_bytes(files_, file.path));
  return {};
}

void CorpusReader::close_file() {
  files_bytes_ += corpus_[file_].size_bytes;
  ++file_;
  source_.reset();
  rows_.reset();
  buffer_.clear();
  buffer_begin_ = 0;
  offset_ = 0;
  line_ = 0;
}

Result<bool> CorpusReader::next_row(const CorpusFile& file, RawDocument* document) {
  bool null = false;
  ASSIGN_OR_RETURN(const bool found, rows_->next(&document->bytes, &null));
  if (!found) return false;
  ++offset_;
  ++line_;
  document->kind = null ? RawKind::kNull : RawKind::kColumn;
  document->source = str_cat(file.path, ":row ", line_);
  return true;
}

Status CorpusReader::fill_buffer(bool* end) {
  buffer_.erase(0, buffer_begin_);
  buffer_begin_ = 0;
  const size_t kept = buffer_.size();
  buffer_.resize(kept + kReadBytes);
  ASSIGN_OR_RETURN(const size_t count, source_->read(std::span(buffer_).subspan(kept)));
  buffer_.resize(kept + count);
  *end = count == 0;
  return {};
}

Result<bool> CorpusReader::next_line(const CorpusFile& file, RawDocument* document) {
  size_t searched = 0;  // of the unread part of buffer_, bytes known to hold no newline
  bool file_read = false;
  while (true) {
    size_t end = buffer_.find('\n', buffer_begin_ + searched);
    if (end == std::string::npos && file_read) end = buffer_.size();
    if (end == std::string::npos) {
      searched = buffer_.size() - buffer_begin_;
      RETURN_IF_ERROR(fill_buffer(&file_read));
      continue;
    }
    if (buffer_begin_ >= buffer_.size()) return false;  // only where the file is read to its end
    document->bytes.assign(buffer_, buffer_begin_, end - buffer_begin_);
    offset_ += static_cast<int64_t>(std::min(end + 1, buffer_.size()) - buffer_begin_);
    buffer_begin_ = end + 1;
    searched = 0;
    ++line_;
    if (document->bytes.find_first_not_of(" \t\r") == std::string::npos) continue;
    document->kind = RawKind::kJsonLine;
    document->source = str_cat(file.path, ":", line_);
    return true;
  }
}

}  // namespace tessera
