#include "tessera/ckpt/chunk_file.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/strings/str_format.h"
#include "tessera/base/crc32c.h"

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

/// Appends piece `n`, padded with zeros where it sticks out of the array, and its checksum, which
/// it returns.
uint32_t append_piece(const ArraySpec& spec, const Box& chunk, std::span<const std::byte> data,
                      int64_t n, Buffer* out) {
  const std::span<std::byte> piece = out->extend(spec.piece_bytes());
  const Box stored = piece_box(spec, n);
  const Box present{Dims(chunk.dims.size(), 0), chunk.dims};
  if (intersect(stored, present) != stored) std::fill(piece.begin(), piece.end(), std::byte{0});
  copy_overlap({present, data.data()}, {stored, piece.data()}, dtype_host_bytes(spec.shape.dtype));
  host_to_stored(spec.shape.dtype, piece);
  const uint32_t crc = crc32c(piece);
  out->append_number(crc);
  return crc;
}

/// A chunk in one piece that is as large as it is stored needs no copy.
bool goes_out_as_it_is(const ArraySpec& spec, const Box& chunk) {
  return spec.inner_chunk_shape.empty() && chunk.dims == spec.chunk_shape &&
         !needs_conversion(spec.shape.dtype);
}

Result<uint32_t> write_whole(WritableFile& file, std::span<const std::byte> data) {
  const uint32_t crc = crc32c(data);
  RETURN_IF_ERROR(file.append(data));
  RETURN_IF_ERROR(file.append(std::as_bytes(std::span(&crc, 1))));
  return crc;
}

Result<uint32_t> write_pieces(WritableFile& file, const ArraySpec& spec, const Box& chunk,
                              std::span<const std::byte> data) {
  const int64_t pieces = spec.pieces_per_chunk();
  const int64_t stride = spec.piece_bytes() + kChecksumBytes;
  Buffer buffer(std::min(pieces * stride, kTransferBytes + stride));
  Buffer index(pieces * kIndexEntryBytes + kChecksumBytes);
  uint32_t crc = 0, checksum = 0;
  for (int64_t n = 0; n < pieces; ++n) {
    crc = append_piece(spec, chunk, data, n, &buffer);
    checksum = crc32c(std::as_bytes(std::span(&crc, 1)), checksum);
    index.append_number<uint64_t>(n * stride);
    index.append_number<uint64_t>(stride);
    if (buffer.size() < kTransferBytes && n + 1 < pieces) continue;
    RETURN_IF_ERROR(file.append(buffer.bytes()));
    buffer.clear();
  }
  if (spec.inner_chunk_shape.empty()) return crc;
  index.append_number(crc32c(index.bytes()));
  RETURN_IF_ERROR(file.append(index.bytes()));
  return checksum;
}

/// Reads the pieces of one chunk file.
class PieceReader {
 public:
  PieceReader(const std::string& path, const ArraySpec& spec, std::unique_ptr<ReadableFile> file)
      : path_(path), spec_(spec), file_(std::move(file)) {}

  /// Looks at the size, and reads the index where there is one.
  Status open() {
    if (file_->size_bytes() != spec_.chunk_file_bytes()) {
      return data_loss(path_, ": has ", file_->size_bytes(), " bytes instead of ",
                       spec_.chunk_file_bytes());
    }
    const int64_t pieces = spec_.pieces_per_chunk();
    const int64_t stride = spec_.piece_bytes() + kChecksumBytes;
    if (spec_.inner_chunk_shape.empty()) return absl::OkStatus();
    std::vector<std::byte> index(static_cast<size_t>(pieces * kIndexEntryBytes + kChecksumBytes));
    RETURN_IF_ERROR(read(pieces * stride, index));
    const auto entries = std::span<const std::byte>(index).first(index.size() - kChecksumBytes);
    if (crc32c(entries) != number_at<uint32_t>(index, pieces * kIndexEntryBytes)) {
      return data_loss(path_, ": the index of its pieces does not match its checksum");
    }
    for (int64_t n = 0; n < pieces; ++n) {  // our writer knows but one order
      if (number_at<uint64_t>(entries, n * kIndexEntryBytes) != static_cast<uint64_t>(n * stride) ||
          number_at<uint64_t>(entries, n * kIndexEntryBytes + 8) != static_cast<uint64_t>(stride)) {
        return data_loss(path_, ": piece ", n, " is not where this format puts it");
      }
    }
    return absl::OkStatus();
  }

  /// The pieces [first, first + count), verified; each is followed by its checksum.
  Status read_pieces(int64_t first, int64_t count, Buffer* out) {
    const int64_t stride = spec_.piece_bytes() + kChecksumBytes;
    out->clear();
    RETURN_IF_ERROR(read(first * stride, out->extend(count * stride)));
    for (int64_t n = 0; n < count; ++n) {
      const auto stored = number_at<uint32_t>(out->bytes(), (n + 1) * stride - kChecksumBytes);
      RETURN_IF_ERROR(check(first + n, piece(*out, n), stored));
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
    const int64_t stride = spec_.piece_bytes() + kChecksumBytes;
    uint32_t checksum = 0;
    for (int64_t n = 0; n < spec_.pieces_per_chunk(); ++n) {
      uint32_t stored = 0;
      const auto bytes = std::as_writable_bytes(std::span(&stored, 1));
      RETURN_IF_ERROR(read((n + 1) * stride - kChecksumBytes, bytes));
      checksum = crc32c(bytes, checksum);
    }
    return checksum;
  }

 private:
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

Result<uint32_t> write_chunk_file(FileSystem& files, const std::string& path, const ArraySpec& spec,
                                  const Box& chunk, std::span<const std::byte> data) {
  ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file, files.create_file(path));
  ASSIGN_OR_RETURN(const uint32_t checksum, goes_out_as_it_is(spec, chunk)
                                                ? write_whole(*file, data)
                                                : write_pieces(*file, spec, chunk, data));
  RETURN_IF_ERROR(file->sync());
  RETURN_IF_ERROR(file->close());
  return checksum;
}

Status read_chunk_file(FileSystem& files, const std::string& path, const ArraySpec& spec,
                       const Box& chunk, uint32_t checksum, const HostBox& to,
                       int64_t* bytes_read) {
  const std::optional<Box> wanted = intersect(chunk, to.box);
  if (!wanted) return absl::OkStatus();
  auto file = files.open_file(path);
  if (absl::IsNotFound(file.status())) return data_loss(path, ": is missing");
  RETURN_IF_ERROR(file.status());
  PieceReader reader(path, spec, *std::move(file));
  RETURN_IF_ERROR(reader.open());
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
  return compare_checksum(path, *found, checksum);
}

Status verify_chunk_file(FileSystem& files, const std::string& path, const ArraySpec& spec,
                         uint32_t checksum) {
  auto file = files.open_file(path);
  if (absl::IsNotFound(file.status())) return data_loss(path, ": is missing");
  RETURN_IF_ERROR(file.status());
  PieceReader reader(path, spec, *std::move(file));
  RETURN_IF_ERROR(reader.open());
  const int64_t pieces = spec.pieces_per_chunk();
  const int64_t most = pieces_per_transfer(spec);
  Buffer buffer(most * (spec.piece_bytes() + kChecksumBytes));
  for (int64_t n = 0; n < pieces; n += most) {
    RETURN_IF_ERROR(reader.read_pieces(n, std::min(most, pieces - n), &buffer));
  }
  return compare_checksum(path, reader.checksum(), checksum);
}

}  // namespace tessera
