#include "tessera/data/stored_file_writer.h"

#include <filesystem>
#include <utility>

#include "tessera/base/crc32c.h"

namespace tessera {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;

}  // namespace

StoredFileWriter::StoredFileWriter(std::unique_ptr<WritableFile> file, const StoredFile& written)
    : file_(std::move(file)), written_(written) {}

Result<std::unique_ptr<StoredFileWriter>> StoredFileWriter::create(FileSystem& files,
                                                                   std::string path) {
  ASSIGN_OR_RETURN(auto file, files.create_file(path));
  return std::unique_ptr<StoredFileWriter>(new StoredFileWriter(std::move(file), {}));
}

Result<std::unique_ptr<StoredFileWriter>> StoredFileWriter::go_on(FileSystem& files,
                                                                  std::string path,
                                                                  const StoredFile& written) {
  ASSIGN_OR_RETURN(const int64_t found, files.file_size(path));
  if (found < written.size_bytes) {
    return data_loss(path, ": expected ", written.size_bytes, " bytes, found ", found);
  }
  std::error_code error;  // readers map a store, so it lies on a local disk
  std::filesystem::resize_file(path, written.size_bytes, error);
  if (error) return internal_error("cannot cut ", path, ": ", error.message());
  ASSIGN_OR_RETURN(auto file, files.append_file(path));
  return std::unique_ptr<StoredFileWriter>(new StoredFileWriter(std::move(file), written));
}

Status StoredFileWriter::append(std::span<const std::byte> bytes) {
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  return buffer_.size() >= kBufferBytes ? flush() : Status();
}

Status StoredFileWriter::flush() {
  RETURN_IF_ERROR(file_->append(std::span<const std::byte>(buffer_)));
  written_.crc32c = crc32c(buffer_, written_.crc32c);
  written_.size_bytes += static_cast<int64_t>(buffer_.size());
  buffer_.clear();
  return {};
}

Status StoredFileWriter::sync() {
  RETURN_IF_ERROR(flush());
  return file_->sync();
}

}  // namespace tessera
