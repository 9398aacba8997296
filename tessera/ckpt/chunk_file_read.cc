#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/str_format.h"
#include "tessera/base/crc32c.h"
#include "tessera/ckpt/chunk_file.h"
#include "tessera/ckpt/chunk_file_internal.h"

namespace tessera {
namespace {

/// Memory of a pool.
class Scratch {
 public:
  Scratch(StagingPool& pool, int64_t bytes)
      : size_(static_cast<size_t>(bytes)), block_(pool.take(size_)) {}
  std::span<std::byte> memory() const { return {block_.get(), size_}; }

 private:
  const size_t size_;
  const std::shared_ptr<std::byte[]> block_;
};

/// How many pieces are read at once.
int64_t pieces_per_transfer(const ArraySpec& spec) {
  const int64_t fit = kTransferBytes / (spec.piece_bytes() + kChecksumBytes);
  return std::clamp<int64_t>(fit, 1, spec.pieces_per_chunk());
}

/// Room for the pieces of one transfer: as the file has them, and without compression.
class Transfer {
 public:
  Transfer(const ArraySpec& spec, StagingPool& pool)
      : stride_(spec.piece_bytes() + kChecksumBytes),
        stored_(pool, pieces_per_transfer(spec) * piece_bound(spec)) {
    if (spec.zstd_level > 0) plain_.emplace(pool, pieces_per_transfer(spec) * stride_);
  }

  std::span<std::byte> stored() const { return stored_.memory(); }
  /// Where piece `n` of the transfer goes, when it is compressed.
  std::span<std::byte> plain(int64_t n) const { return within(plain_->memory(), n); }
  /// Without compression they are used where they were read.
  void set_pieces(std::span<std::byte> read) { pieces_ = plain_ ? plain_->memory() : read; }
  std::span<std::byte> piece(int64_t n) const { return within(pieces_, n); }

 private:
  std::span<std::byte> within(std::span<std::byte> pieces, int64_t n) const {
    return pieces.subspan(static_cast<size_t>(n * stride_),
                          static_cast<size_t>(stride_ - kChecksumBytes));
  }

  const int64_t stride_;
  const Scratch stored_;
  std::optional<Scratch> plain_;
  std::span<std::byte> pieces_;
};

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
    checksums_.resize(static_cast<size_t>(spec_.pieces_per_chunk()));
    if (!spec_.inner_chunk_shape.empty()) return read_index(file_bytes);
    if (!is_size_of_piece(static_cast<uint64_t>(file_bytes))) {
      return data_loss(path_, ": ", file_bytes, " bytes are not what a chunk of this array takes");
    }
    starts_ = {0, file_bytes};
    return absl::OkStatus();
  }

  /// The pieces [first, first + count), verified, without compression.
  Status read_pieces(int64_t first, int64_t count, Transfer& to) {
    const int64_t begin = starts_[first];
    const auto stored = to.stored().first(static_cast<size_t>(starts_[first + count] - begin));
    RETURN_IF_ERROR(read(begin, stored));
    for (int64_t n = 0; n < count; ++n) {
      const int64_t start = starts_[first + n], end = starts_[first + n + 1] - kChecksumBytes;
      const auto data =
          stored.subspan(static_cast<size_t>(start - begin), static_cast<size_t>(end - start));
      RETURN_IF_ERROR(check(first + n, crc32c(data), number_at<uint32_t>(stored, end - begin)));
      if (spec_.zstd_level == 0) continue;
      const Status status = zstd_decompress(data, to.plain(n));
      if (!status.ok()) return annotate(status, str_cat(path_, ": piece ", first + n));
    }
    to.set_pieces(stored);
    return absl::OkStatus();
  }

  /// A chunk in one piece, straight to where it is wanted.
  Status read_whole(std::span<std::byte> out) {
    const int64_t bytes = std::ssize(out);
    uint32_t crc = 0;
    for (int64_t begin = 0; begin < bytes; begin += kTransferBytes) {
      const int64_t count = std::min(kTransferBytes, bytes - begin);
      const auto part = out.subspan(static_cast<size_t>(begin), static_cast<size_t>(count));
      RETURN_IF_ERROR(read(begin, part));
      crc = crc32c(part, crc);
    }
    uint32_t stored = 0;
    RETURN_IF_ERROR(read(bytes, std::as_writable_bytes(std::span(&stored, 1))));
    return check(0, crc, stored);
  }

  int64_t bytes_read() const { return bytes_read_; }
  /// write_chunk_file()'s result, from the checksums of all pieces: of those read, and, as the file
  /// has them, of the others. With it a part of a file is known to be of the right file as surely
  /// as the whole is.
  Result<uint32_t> checksum() {
    uint32_t checksum = 0;
    for (size_t n = 0; n < checksums_.size(); ++n) {
      uint32_t crc = checksums_[n].value_or(0);
      const auto bytes = std::as_writable_bytes(std::span(&crc, 1));
      if (!checksums_[n]) RETURN_IF_ERROR(read(starts_[n + 1] - kChecksumBytes, bytes));
      if (spec_.inner_chunk_shape.empty()) return crc;
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
    if (spec_.zstd_level > 0) {
      return size > static_cast<uint64_t>(kChecksumBytes) &&
             size <= static_cast<uint64_t>(piece_bound(spec_));
    }
    return size == static_cast<uint64_t>(spec_.piece_bytes() + kChecksumBytes);
  }

  Status read(int64_t offset, std::span<std::byte> out) {
    bytes_read_ += std::ssize(out);
    return file_->read_at(offset, out);
  }
  Status check(int64_t n, uint32_t found, uint32_t stored) {
    checksums_[static_cast<size_t>(n)] = found;
    if (found == stored) return absl::OkStatus();
    return data_loss(
        path_, ": ", spec_.inner_chunk_shape.empty() ? "its data" : str_cat("piece ", n),
        absl::StrFormat(" has CRC-32C %08x, but was written with %08x", found, stored));
  }

  const std::string& path_;
  const ArraySpec& spec_;
  const std::unique_ptr<ReadableFile> file_;
  std::vector<int64_t> starts_;                     // of each piece, and where the last one ends
  std::vector<std::optional<uint32_t>> checksums_;  // of each piece read
  int64_t bytes_read_ = 0;
};

Status compare_checksum(const std::string& path, uint32_t found, uint32_t expected) {
  if (found == expected) return absl::OkStatus();
  return data_loss(path, ": is whole but not the file that the manifest names",
                   absl::StrFormat(" (checksum %08x instead of %08x)", found, expected));
}

/// The numbers of the pieces of a chunk that any of `to` touches; ascending.
std::vector<int64_t> pieces_touched(const ArraySpec& spec, const Box& chunk,
                                    std::span<const HostBox> to) {
  const Dims grid = grid_of(spec.chunk_shape, spec.piece_shape());
  std::vector<int64_t> pieces;
  for (const HostBox& destination : to) {
    const std::optional<Box> wanted = intersect(chunk, destination.box);
    if (!wanted) continue;
    const Box within = relative_to(*wanted, chunk.start);
    (void)for_each_cell(within, spec.piece_shape(), [&](const Dims& index) {
      pieces.push_back(linear_index(index, grid));
      return absl::OkStatus();
    });
  }
  std::sort(pieces.begin(), pieces.end());
  pieces.erase(std::unique(pieces.begin(), pieces.end()), pieces.end());
  return pieces;
}

/// Copies what of piece `n` lies in the destinations.
void place_piece(const ArraySpec& spec, const Box& chunk, int64_t n, std::span<std::byte> piece,
                 std::span<const HostBox> to) {
  stored_to_host(spec.shape.dtype, piece);
  Box global = piece_box(spec, n);
  for (size_t i = 0; i < global.start.size(); ++i) global.start[i] += chunk.start[i];
  for (const HostBox& destination : to) {
    copy_overlap({global, piece.data()}, destination, dtype_host_bytes(spec.shape.dtype));
  }
}

/// Where a chunk in one piece can be read in place: the memory of the destination that it fills,
/// else nothing.
std::span<std::byte> direct_target(const ArraySpec& spec, const Box& chunk,
                                   std::span<const HostBox> to) {
  if (to.size() != 1 || !goes_out_as_it_is(spec, chunk) || intersect(chunk, to[0].box) != chunk ||
      !is_contiguous(chunk.dims, to[0].box.dims)) {
    return {};
  }
  const Box within = relative_to(chunk, to[0].box.start);
  const int64_t offset = linear_index(within.start, to[0].box.dims);
  return {to[0].bytes + offset * dtype_host_bytes(spec.shape.dtype),
          static_cast<size_t>(spec.piece_bytes())};
}

Status read_in_groups(PieceReader& reader, const ArraySpec& spec, const Box& chunk,
                      std::span<const HostBox> to, StagingPool& scratch) {
  const std::vector<int64_t> pieces = pieces_touched(spec, chunk, to);
  const int64_t most = pieces_per_transfer(spec);
  Transfer transfer(spec, scratch);
  for (size_t i = 0; i < pieces.size();) {
    int64_t count = 1;
    while (count < most && i + count < pieces.size() && pieces[i + count] == pieces[i] + count) {
      ++count;
    }
    RETURN_IF_ERROR(reader.read_pieces(pieces[i], count, transfer));
    for (int64_t n = 0; n < count; ++n) {
      place_piece(spec, chunk, pieces[i] + n, transfer.piece(n), to);
    }
    i += static_cast<size_t>(count);
  }
  return absl::OkStatus();
}

Result<std::unique_ptr<ReadableFile>> open_chunk(FileSystem& files, const std::string& path) {
  auto file = files.open_file(path);
  if (absl::IsNotFound(file.status())) return data_loss(path, ": is missing");
  return file;
}

}  // namespace

Status read_chunk_file(FileSystem& files, const std::string& path, const ArraySpec& spec,
                       const Box& chunk, const StoredChunk& stored, std::span<const HostBox> to,
                       StagingPool& scratch, int64_t* bytes_read) {
  const auto touches = [&](const HostBox& destination) {
    return intersect(chunk, destination.box).has_value();
  };
  if (std::none_of(to.begin(), to.end(), touches)) return absl::OkStatus();
  ASSIGN_OR_RETURN(auto file, open_chunk(files, path));
  PieceReader reader(path, spec, std::move(file));
  RETURN_IF_ERROR(reader.open(stored.file_bytes));
  const std::span<std::byte> direct = direct_target(spec, chunk, to);
  const auto read = [&]() -> Result<uint32_t> {
    RETURN_IF_ERROR(!direct.empty() ? reader.read_whole(direct)
                                    : read_in_groups(reader, spec, chunk, to, scratch));
    return reader.checksum();
  };
  const Result<uint32_t> found = read();
  *bytes_read += reader.bytes_read();
  RETURN_IF_ERROR(found.status());
  return compare_checksum(path, *found, stored.checksum);
}

Status verify_chunk_file(FileSystem& files, const std::string& path, const ArraySpec& spec,
                         const StoredChunk& stored, StagingPool& scratch) {
  ASSIGN_OR_RETURN(auto file, open_chunk(files, path));
  PieceReader reader(path, spec, std::move(file));
  RETURN_IF_ERROR(reader.open(stored.file_bytes));
  const int64_t pieces = spec.pieces_per_chunk();
  const int64_t most = pieces_per_transfer(spec);
  Transfer transfer(spec, scratch);
  for (int64_t n = 0; n < pieces; n += most) {
    RETURN_IF_ERROR(reader.read_pieces(n, std::min(most, pieces - n), transfer));
  }
  ASSIGN_OR_RETURN(const uint32_t found, reader.checksum());
  return compare_checksum(path, found, stored.checksum);
}

}  // namespace tessera
