#include "tessera/ckpt/chunk_file.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/strings/str_format.h"
#include "tessera/base/crc32c.h"
#include "tessera/ckpt/zstd_codec.h"

namespace tessera {
namespace {

constexpr int64_t kChecksumBytes = 4;
constexpr int64_t kIndexEntryBytes = 16;
/// Pieces are gathered up to about this size for one write or read: little enough for a core's
/// cache.
constexpr int64_t kTransferBytes = 1 << 20;

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

template <typename T>
T number_at(std::span<const std::byte> bytes, int64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

/// Where piece `n` of a chunk lies in the chunk, whole, as stored.
Box piece_box(const ArraySpec& spec, int64_t n) {
  Box box{grid_index(n, grid_of(spec.chunk_shape, spec.piece_shape())), spec.piece_shape()};
  for (size_t i = 0; i < box.dims.size(); ++i) box.start[i] *= box.dims[i];
  return box;
}

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

/// The most that a piece takes in a file, with its checksum.
int64_t piece_bound(const ArraySpec& spec) {
  const int64_t bytes = spec.piece_bytes();
  if (spec.zstd_level == 0) return bytes + kChecksumBytes;
  return static_cast<int64_t>(zstd_bound(static_cast<size_t>(bytes))) + kChecksumBytes;
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

/// A chunk in one piece that is as large as it is stored needs no copy.
bool goes_out_as_it_is(const ArraySpec& spec, const Box& chunk) {
  return spec.inner_chunk_shape.empty() && chunk.dims == spec.chunk_shape &&
         !needs_conversion(spec.shape.dtype) && spec.zstd_level == 0;
}

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

/// Reads the pieces of one chunk file.
class PieceReader {
 public:
  PieceReader(const std::string& path, const ArraySpec& spec, std::unique_ptr<ReadableFile> file)
      : path_(path), spec_(spec), file_(std::move(file)) {}

  /// Looks at the size, and reads the index where there is one.
  Status open(int64_t file_bytes) {
    if (file_->size_bytes() != file_bytes) {
      return data_loss(path_, ": has ", file_->size_bytes(), " bytes instead of ", file_bytes);
    }
    if (!spec_.inner_chunk_shape.empty()) return read_index(file_bytes);
    starts_ = {0, file_bytes};
    return absl::OkStatus();
  }

  /// The pieces [first, first + count), verified, without compression; each is followed by room for
  /// its checksum.
  Status read_pieces(int64_t first, int64_t count, Buffer* out) {
    out->clear();
    const int64_t stride = spec_.piece_bytes() + kChecksumBytes;
    const int64_t begin = starts_[first], bytes = starts_[first + count] - begin;
    const bool is_compressed = spec_.zstd_level > 0;
    if (is_compressed) compressed_.resize(static_cast<size_t>(bytes));
    const std::span<std::byte> stored =
        is_compressed ? std::span<std::byte>(compressed_) : out->extend(bytes);
    RETURN_IF_ERROR(read(begin, stored));
    for (int64_t n = first; n < first + count; ++n) {
      const auto piece = stored.subspan(static_cast<size_t>(starts_[n] - begin),
                                        static_cast<size_t>(starts_[n + 1] - starts_[n]));
      const auto data = piece.first(piece.size() - kChecksumBytes);
      RETURN_IF_ERROR(check(n, data, number_at<uint32_t>(piece, std::ssize(data))));
      if (!is_compressed) continue;
      const std::span<std::byte> room = out->extend(stride);
      const Status status = zstd_decompress(data, room.first(room.size() - kChecksumBytes));
      if (!status.ok()) return annotate(status, str_cat(path_, ": piece ", n));
    }
    return absl::OkStatus();
  }

  /// A chunk in one piece, straight to where it is wanted.
  Status read_whole(std::span<std::byte> out) {
    uint32_t stored = 0;
    RETURN_IF_ERROR(read(0, out));
    RETURN_IF_ERROR(
        read(static_cast<int64_t>(out.size()), std::as_writable_bytes(std::span(&stored, 1))));
    return check(0, out, stored);
  }

  std::span<std::byte> piece(Buffer& pieces, int64_t n) const {
    const size_t bytes = static_cast<size_t>(spec_.piece_bytes());
    return pieces.bytes().subspan(static_cast<size_t>(n) * (bytes + kChecksumBytes), bytes);
  }

  int64_t bytes_read() const { return bytes_read_; }
  /// Of the pieces verified so far, in the order they were read: write_chunk_file's result when
  /// that were all.
  uint32_t checksum() const { return spec_.inner_chunk_shape.empty() ? last_crc_ : checksum_; }
  /// The same of all pieces as the file has their checksums, read or not: with it a part of a file
  /// is known to be of the right file as surely as the whole is.
  Result<uint32_t> stored_checksum() {
    uint32_t checksum = 0;
    for (int64_t n = 0; n < spec_.pieces_per_chunk(); ++n) {
      uint32_t stored = 0;
      const auto bytes = std::as_writable_bytes(std::span(&stored, 1));
      RETURN_IF_ERROR(read(starts_[n + 1] - kChecksumBytes, bytes));
      checksum = crc32c(bytes, checksum);
    }
    return checksum;
  }

 private:
  Status read_index(int64_t file_bytes) {
    const int64_t pieces = spec_.pieces_per_chunk();
    std::vector<std::byte> index(static_cast<size_t>(pieces * kIndexEntryBytes + kChecksumBytes));
    const int64_t index_start = file_bytes - std::ssize(index);
    if (index_start < 0) return data_loss(path_, ": is too short for the index of its pieces");
    RETURN_IF_ERROR(read(index_start, index));
    const auto entries = std::span<const std::byte>(index).first(index.size() - kChecksumBytes);
    if (crc32c(entries) != number_at<uint32_t>(index, pieces * kIndexEntryBytes)) {
      return data_loss(path_, ": the index of its pieces does not match its checksum");
    }
    starts_ = {0};
    for (int64_t n = 0; n < pieces; ++n) {  // our writer knows but one order, without gaps
      const auto start = number_at<uint64_t>(entries, n * kIndexEntryBytes);
      const auto size = number_at<uint64_t>(entries, n * kIndexEntryBytes + 8);
      if (start != static_cast<uint64_t>(starts_.back()) || !is_size_of_piece(size) ||
          size > static_cast<uint64_t>(index_start - starts_.back())) {
        return data_loss(path_, ": piece ", n, " is not where this format puts it");
      }
      starts_.push_back(starts_.back() + static_cast<int64_t>(size));
    }
    if (starts_.back() == index_start) return absl::OkStatus();
    return data_loss(path_, ": there are bytes between the pieces and their index");
  }

  bool is_size_of_piece(uint64_t size) const {
    if (spec_.zstd_level > 0) return size > static_cast<uint64_t>(kChecksumBytes);
    return size == static_cast<uint64_t>(spec_.piece_bytes() + kChecksumBytes);
  }

  Status read(int64_t offset, std::span<std::byte> out) {
    bytes_read_ += static_cast<int64_t>(out.size());
    return file_->read_at(offset, out);
  }

  Status check(int64_t n, std::span<const std::byte> piece, uint32_t stored) {
    last_crc_ = crc32c(piece);
    checksum_ = crc32c(std::as_bytes(std::span(&last_crc_, 1)), checksum_);
    if (last_crc_ == stored) return absl::OkStatus();
    return data_loss(
        path_, ": ", spec_.inner_chunk_shape.empty() ? "its data" : str_cat("piece ", n),
        absl::StrFormat(" has CRC-32C %08x, but was written with %08x", last_crc_, stored));
  }

  const std::string& path_;
  const ArraySpec& spec_;
  std::unique_ptr<ReadableFile> file_;
  std::vector<int64_t> starts_;  // of each piece, and where the last one ends
  std::vector<std::byte> compressed_;
  int64_t bytes_read_ = 0;
  uint32_t last_crc_ = 0, checksum_ = 0;
};

Status compare_checksum(const std::string& path, uint32_t found, uint32_t expected) {
  if (found == expected) return absl::OkStatus();
  return data_loss(path, ": is whole but not the file that the manifest names",
                   absl::StrFormat(" (checksum %08x instead of %08x)", found, expected));
}

/// The numbers of the pieces that `wanted`, within the chunk, touches; ascending.
std::vector<int64_t> pieces_touched(const ArraySpec& spec, const Box& wanted) {
  const Dims grid = grid_of(spec.chunk_shape, spec.piece_shape());
  std::vector<int64_t> pieces;
  (void)for_each_cell(wanted, spec.piece_shape(), [&](const Dims& index) {
    pieces.push_back(linear_index(index, grid));
    return absl::OkStatus();
  });
  return pieces;
}

/// Copies what of piece `n` lies in the destination.
void place_piece(const ArraySpec& spec, const Box& chunk, int64_t n, std::span<std::byte> piece,
                 const HostBox& to) {
  stored_to_host(spec.shape.dtype, piece);
  Box global = piece_box(spec, n);
  for (size_t i = 0; i < global.start.size(); ++i) global.start[i] += chunk.start[i];
  copy_overlap({global, piece.data()}, to, dtype_host_bytes(spec.shape.dtype));
}

/// Where a chunk in one piece can be read in place: the memory of the destination that it fills,
/// else nothing.
std::span<std::byte> direct_target(const ArraySpec& spec, const Box& chunk, const HostBox& to) {
  if (!goes_out_as_it_is(spec, chunk) || intersect(chunk, to.box) != chunk ||
      !is_contiguous(chunk.dims, to.box.dims)) {
    return {};
  }
  const Box within = relative_to(chunk, to.box.start);
  const int64_t offset = linear_index(within.start, to.box.dims);
  return {to.bytes + offset * dtype_host_bytes(spec.shape.dtype),
          static_cast<size_t>(spec.piece_bytes())};
}

/// How many pieces are read at once.
int64_t pieces_per_transfer(const ArraySpec& spec) {
  const int64_t fit = kTransferBytes / (spec.piece_bytes() + kChecksumBytes);
  return std::clamp<int64_t>(fit, 1, spec.pieces_per_chunk());
}

Status read_in_groups(PieceReader& reader, const ArraySpec& spec, const Box& chunk,
                      std::span<const int64_t> pieces, const HostBox& to) {
  const int64_t most = pieces_per_transfer(spec);
  Buffer buffer(most * (spec.piece_bytes() + kChecksumBytes));
  for (size_t i = 0; i < pieces.size();) {
    int64_t count = 1;
    while (count < most && i + count < pieces.size() && pieces[i + count] == pieces[i] + count) {
      ++count;
    }
    RETURN_IF_ERROR(reader.read_pieces(pieces[i], count, &buffer));
    for (int64_t n = 0; n < count; ++n) {
      place_piece(spec, chunk, pieces[i] + n, reader.piece(buffer, n), to);
    }
    i += static_cast<size_t>(count);
  }
  return absl::OkStatus();
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

Status read_chunk_file(FileSystem& files, const std::string& path, const ArraySpec& spec,
                       const Box& chunk, const StoredChunk& stored, const HostBox& to,
                       int64_t* bytes_read) {
  const std::optional<Box> wanted = intersect(chunk, to.box);
  if (!wanted) return absl::OkStatus();
  auto file = files.open_file(path);
  if (absl::IsNotFound(file.status())) return data_loss(path, ": is missing");
  RETURN_IF_ERROR(file.status());
  PieceReader reader(path, spec, *std::move(file));
  RETURN_IF_ERROR(reader.open(stored.file_bytes));
  const std::vector<int64_t> pieces = pieces_touched(spec, relative_to(*wanted, chunk.start));
  const std::span<std::byte> direct = direct_target(spec, chunk, to);
  const Status status =
      !direct.empty() ? reader.read_whole(direct) : read_in_groups(reader, spec, chunk, pieces, to);
  Result<uint32_t> found = reader.checksum();
  const bool in_part = static_cast<int64_t>(pieces.size()) < spec.pieces_per_chunk();
  if (status.ok() && in_part) found = reader.stored_checksum();
  *bytes_read += reader.bytes_read();
  RETURN_IF_ERROR(status);
  RETURN_IF_ERROR(found.status());
  return compare_checksum(path, *found, stored.checksum);
}

Status verify_chunk_file(FileSystem& files, const std::string& path, const ArraySpec& spec,
                         const StoredChunk& stored) {
  auto file = files.open_file(path);
  if (absl::IsNotFound(file.status())) return data_loss(path, ": is missing");
  RETURN_IF_ERROR(file.status());
  PieceReader reader(path, spec, *std::move(file));
  RETURN_IF_ERROR(reader.open(stored.file_bytes));
  const int64_t pieces = spec.pieces_per_chunk();
  const int64_t most = pieces_per_transfer(spec);
  Buffer buffer(most * (spec.piece_bytes() + kChecksumBytes));
  for (int64_t n = 0; n < pieces; n += most) {
    RETURN_IF_ERROR(reader.read_pieces(n, std::min(most, pieces - n), &buffer));
  }
  return compare_checksum(path, reader.checksum(), stored.checksum);
}

}  // namespace tessera
