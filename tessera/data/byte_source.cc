#include "tessera/data/byte_source.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <vector>

namespace tessera {
namespace {

constexpr std::string_view kGzip = ".gz";
constexpr std::string_view kZstd = ".zst";
constexpr int64_t kReadBytes = int64_t{1} << 18;

class PlainSource final : public ByteSource {
 public:
  explicit PlainSource(std::unique_ptr<ReadableFile> file) : file_(std::move(file)) {}

  Result<size_t> read(std::span<char> out) override {
    const int64_t count = std::min<int64_t>(out.size(), file_->size_bytes() - done_);
    RETURN_IF_ERROR(file_->read_at(done_, std::as_writable_bytes(out.first(count))));
    done_ += count;
    return count;
  }
  int64_t file_bytes() const override { return done_; }

 private:
  const std::unique_ptr<ReadableFile> file_;
  int64_t done_ = 0;
};

// What both unpackers share: a buffer of packed bytes.
class PackedSource : public ByteSource {
 public:
  PackedSource(std::unique_ptr<ReadableFile> file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}
  int64_t file_bytes() const override { return file_.file_bytes() - (end_ - begin_); }

 protected:
  // Where there is no packed byte left, reads more; after that there is none only at the end.
  Status fill() {
    if (begin_ < end_) return {};
    begin_ = 0;
    ASSIGN_OR_RETURN(end_, file_.read(buffer_));
    return {};
  }
  std::span<char> packed() { return std::span(buffer_).subspan(begin_, end_ - begin_); }
  void take(size_t count) { begin_ += count; }
  Status damaged(std::string_view why) const {
    return data_loss(path_, ": what is packed in it is damaged: ", why, "; fetch or pack it again");
  }
  Status cut_short() const { return damaged("it ends in the middle"); }

 private:
  PlainSource file_;
  const std::string path_;
  std::vector<char> buffer_ = std::vector<char>(kReadBytes);
  size_t begin_ = 0;
  size_t end_ = 0;
};

class GzipSource final : public PackedSource {
 public:
  using PackedSource::PackedSource;
  ~GzipSource() override { inflateEnd(&stream_); }

  Status open() {
    constexpr int kGzipWindow = 15 + 16;  // the largest window, and gzip's header
    if (inflateInit2(&stream_, kGzipWindow) == Z_OK) return {};
    return absl::ResourceExhaustedError("zlib cannot begin");
  }

  Result<size_t> read(std::span<char> out) override {
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    while (stream_.avail_out == out.size()) {
      RETURN_IF_ERROR(fill());
      if (packed().empty()) {
        if (inside_) return cut_short();
        return 0;
      }
      RETURN_IF_ERROR(inflate_some());
    }
    return out.size() - stream_.avail_out;
  }

 private:
  Status inflate_some() {
    if (!inside_) inflateReset(&stream_);
    inside_ = true;
    const std::span<char> from = packed();
    stream_.next_in = reinterpret_cast<Bytef*>(from.data());
    stream_.avail_in = static_cast<uInt>(from.size());
    const int result = inflate(&stream_, Z_NO_FLUSH);
    take(from.size() - stream_.avail_in);
    if (result == Z_STREAM_END) inside_ = false;
    if (result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR) return {};
    return damaged(stream_.msg != nullptr ? stream_.msg : zError(result));
  }

  z_stream stream_ = {};
  bool inside_ = false;  // of a member
};

class ZstdSource final : public PackedSource {
 public:
  ZstdSource(std::unique_ptr<ReadableFile> file, std::string path)
      : PackedSource(std::move(file), std::move(path)) {
    // What was packed with --long is no damage. Only such a file takes that much memory.
    const int most = ZSTD_dParam_getBounds(ZSTD_d_windowLogMax).upperBound;
    ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, most);
  }
  ~ZstdSource() override { ZSTD_freeDStream(stream_); }

  Result<size_t> read(std::span<char> out) override {
    ZSTD_outBuffer to = {out.data(), out.size(), 0};
    while (to.pos == 0) {
      RETURN_IF_ERROR(fill());
      const std::span<char> from = packed();
      if (from.empty() && left_ == 0) return 0;
      ZSTD_inBuffer in = {from.data(), from.size(), 0};
      left_ = ZSTD_decompressStream(stream_, &to, &in);
      if (ZSTD_isError(left_)) return damaged(ZSTD_getErrorName(left_));
      take(in.pos);
      if (from.empty() && to.pos == 0) return cut_short();
    }
    return to.pos;
  }

 private:
  ZSTD_DStream* stream_ = ZSTD_createDStream();
  size_t left_ = 0;  // 0: a frame has ended, and nothing of the next one was seen
};

}  // namespace

std::string_view unpacked_name(std::string_view path) {
  for (const std::string_view ending : {kGzip, kZstd}) {
    if (path.ends_with(ending)) return path.substr(0, path.size() - ending.size());
  }
  return path;
}

Result<std::unique_ptr<ByteSource>> open_bytes(FileSystem& files, const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, files.open_file(path));
  const bool is_packed = unpacked_name(path) != path;
  if (is_packed && file->size_bytes() == 0)
    return data_loss(path, ": is empty, which nothing packed is; fetch or pack it again");
  if (path.ends_with(kZstd)) return std::make_unique<ZstdSource>(std::move(file), path);
  if (!is_packed) return std::make_unique<PlainSource>(std::move(file));
  auto gzip = std::make_unique<GzipSource>(std::move(file), path);
  RETURN_IF_ERROR(gzip->open());
  return gzip;
}

}  // namespace tessera
