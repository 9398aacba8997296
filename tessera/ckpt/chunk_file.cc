#include "tessera/ckpt/chunk_file.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "tessera/base/crc32c.h"
#include "tessera/ckpt/chunk_file_internal.h"
#include "tessera/ckpt/zstd_codec.h"

namespace tessera {
namespace {

/// Memory that, unlike a vector's, is not filled with zeros first.
class Buffer {
 public:
  explicit Buffer(int64_t capacity)
      : bytes_(std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(capacity))) {}

  int64_t size() const { return size_; }
  void clear() { size_ = 0; }
  void shrink(int64_t size) { size_ = size; }
  std::span<std::byte> bytes() { return {bytes_.get(), static_cast<size_t>(size_)}; }
  /// The next `count` bytes, undefined; the capacity must have been asked for.
  std::span<std::byte> extend(int64_t count) {
    size_ += count;
    return bytes().last(static_cast<size_t>(count));
  }
  template <typename T>
  void append_number(T value) {
    std::memcpy(extend(sizeof(value)).data(), &value, sizeof(value));
  }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  int64_t size_ = 0;
};

/// Fills `piece` with piece `n` as it is stored but for compression: padded with zeros where it
/// sticks out of the array.
void fill_piece(const ArraySpec& spec, const Box& chunk, std::span<const std::byte> data, int64_t n,
                std::span<std::byte> piece) {
  const Box stored = piece_box(spec, n);
  const Box present{Dims(chunk.dims.size(), 0), chunk.dims};
  if (intersect(stored, present) != stored) std::fill(piece.begin(), piece.end(), std::byte{0});
  copy_overlap({present, data.data()}, {stored, piece.data()}, dtype_host_bytes(spec.shape.dtype));
  host_to_stored(spec.shape.dtype, piece);
}

/// Appends pieces of one chunk, each followed by its checksum.
class PieceAppender {
 public:
  PieceAppender(const ArraySpec& spec, const Box& chunk, std::span<const std::byte> data)
      : spec_(spec),
        chunk_(chunk),
        data_(data),
        raw_(spec.zstd_level > 0 ? spec.piece_bytes() : 0) {}

  /// Appends piece `n`; returns its checksum.
  Result<uint32_t> append(int64_t n, Buffer* out) {
    const int64_t start = out->size();
    if (spec_.zstd_level == 0) {
      fill_piece(spec_, chunk_, data_, n, out->extend(spec_.piece_bytes()));
    } else {
      raw_.clear();
      const std::span<std::byte> raw = raw_.extend(spec_.piece_bytes());
      fill_piece(spec_, chunk_, data_, n, raw);
      const std::span<std::byte> room = out->extend(piece_bound(spec_) - kChecksumBytes);
      ASSIGN_OR_RETURN(const size_t size, zstd_compress(raw, spec_.zstd_level, room));
      out->shrink(start + static_cast<int64_t>(size));
    }
    const uint32_t crc = crc32c(out->bytes().subspan(static_cast<size_t>(start)));
    out->append_number(crc);
    return crc;
  }

 private:
  const ArraySpec& spec_;
  const Box& chunk_;
  const std::span<const std::byte> data_;
  Buffer raw_;  // a piece before it is compressed
};

Result<StoredChunk> write_whole(WritableFile& file, std::span<const std::byte> data) {
  const uint32_t crc = crc32c(data);
  RETURN_IF_ERROR(file.append(data));
  RETURN_IF_ERROR(file.append(std::as_bytes(std::span(&crc, 1))));
  return StoredChunk{crc, static_cast<int64_t>(data.size()) + kChecksumBytes};
}

Result<StoredChunk> write_pieces(WritableFile& file, const ArraySpec& spec, const Box& chunk,
                                 std::span<const std::byte> data) {
  const int64_t pieces = spec.pieces_per_chunk();
  const int64_t bound = piece_bound(spec);
  Buffer buffer(std::min(pieces * bound, kTransferBytes + bound));
  Buffer index(pieces * kIndexEntryBytes + kChecksumBytes);
  PieceAppender appender(spec, chunk, data);
  uint32_t crc = 0, checksum = 0;
  int64_t written = 0;  // of the file, but for what `buffer` holds
  for (int64_t n = 0; n < pieces; ++n) {
    const int64_t offset = written + buffer.size();
    ASSIGN_OR_RETURN(crc, appender.append(n, &buffer));
    checksum = crc32c(std::as_bytes(std::span(&crc, 1)), checksum);
    index.append_number<uint64_t>(offset);
    index.append_number<uint64_t>(written + buffer.size() - offset);
    if (buffer.size() < kTransferBytes && n + 1 < pieces) continue;
    RETURN_IF_ERROR(file.append(buffer.bytes()));
    written += buffer.size();
    buffer.clear();
  }
  if (spec.inner_chunk_shape.empty()) return StoredChunk{crc, written};
  index.append_number(crc32c(index.bytes()));
  RETURN_IF_ERROR(file.append(index.bytes()));
  return StoredChunk{checksum, written + index.size()};
}

}  // namespace

Result<StoredChunk> write_chunk_file(FileSystem& files, const std::string& path,
                                     const ArraySpec& spec, const Box& chunk,
                                     std::span<const std::byte> data) {
  ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file, files.create_file(path));
  ASSIGN_OR_RETURN(const StoredChunk stored, goes_out_as_it_is(spec, chunk)
                                                 ? write_whole(*file, data)
                                                 : write_pieces(*file, spec, chunk, data));
  RETURN_IF_ERROR(file->sync());
  RETURN_IF_ERROR(file->close());
  return stored;
}

}  // namespace tessera
