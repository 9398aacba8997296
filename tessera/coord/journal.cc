#include "tessera/coord/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "tessera/base/crc32c.h"
#include "tessera/base/strings.h"

namespace tessera::coord {
namespace {

constexpr char kMagic[] = "tessera coordinator journal 1\n";
constexpr size_t kMagicBytes = sizeof(kMagic) - 1;
constexpr size_t kHeaderBytes = 12;

void put32(std::string* out, uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out->push_back(static_cast<char>(value >> shift));
}

uint32_t get32(std::string_view text) {
  uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = value << 8 | static_cast<uint8_t>(text[i]);
  return value;
}

uint32_t checksum(std::string_view text) { return crc32c(std::as_bytes(std::span(text))); }

std::string frame(const wire::Batch& batch) {
  const std::string payload = batch.SerializeAsString();
  std::string out;
  put32(&out, static_cast<uint32_t>(payload.size()));
  put32(&out, checksum(std::string_view(out).substr(0, 4)));
  put32(&out, checksum(payload));
  return out + payload;
}

// The payload of the whole frame at `offset`, if there is one.
std::optional<std::string_view> frame_at(std::string_view text, size_t offset) {
  if (text.size() - offset < kHeaderBytes) return std::nullopt;
  const std::string_view header = text.substr(offset, kHeaderBytes);
  if (get32(header.substr(4)) != checksum(header.substr(0, 4))) return std::nullopt;
  const size_t size = get32(header);
  if (text.size() - offset - kHeaderBytes < size) return std::nullopt;
  const std::string_view payload = text.substr(offset + kHeaderBytes, size);
  if (get32(header.substr(8)) != checksum(payload)) return std::nullopt;
  return payload;
}

// Each batch is durable before the next is written, so that only the last can be incomplete:
// whatever has a whole one behind it was damaged later.
bool has_frame_after(std::string_view text, size_t offset) {
  for (size_t at = offset + 1; at + kHeaderBytes < text.size(); ++at) {
    if (frame_at(text, at)) return true;
  }
  return false;
}

}  // namespace

Result<std::unique_ptr<Journal>> Journal::open(FileSystem& files, const std::string& folder) {
  RETURN_IF_ERROR(annotate(files.create_dirs(folder), "journal"));
  std::unique_ptr<Journal> journal(new Journal(files, folder));
  RETURN_IF_ERROR(journal->lock());
  RETURN_IF_ERROR(journal->read());
  return journal;
}

Journal::~Journal() {
  if (lock_ >= 0) close(lock_);
}

Status Journal::lock() {
  const std::string path = join_path(folder_, "lock");
  lock_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock_ < 0) return failed_precondition("journal: ", path, ": ", std::strerror(errno));
  if (flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    return failed_precondition("journal: another coordinator has ", folder_,
                               " open. Stop it, or give this one a folder of its own.");
  }
  return absl::OkStatus();
}

Status Journal::read() {
  if (!files_.exists(path())) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string text, files_.read_file(path()));
  if (!std::string_view(text).starts_with(kMagic)) {
    return data_loss("journal: ", path(),
                     " does not begin as a coordinator's journal of this version. ",
                     "Give another folder, or remove it.");
  }
  size_t offset = kMagicBytes;
  while (offset < text.size()) {
    const std::optional<std::string_view> payload = frame_at(text, offset);
    if (!payload) {
      if (has_frame_after(text, offset)) {
        return data_loss(
            "journal: ", path(), " is damaged at byte ", offset,
            ", with whole batches behind it. The disk is to be looked at; with another "
            "folder the coordinator begins without what it knew.");
      }
      dropped_bytes_ = static_cast<int64_t>(text.size() - offset);
      break;
    }
    wire::Batch& batch = stored_.emplace_back();
    if (!batch.ParseFromArray(payload->data(), static_cast<int>(payload->size()))) {
      return data_loss("journal: ", path(), ": the batch at byte ", offset, " cannot be read");
    }
    offset += kHeaderBytes + payload->size();
  }
  return absl::OkStatus();
}

Status Journal::rewrite(const wire::Batch& batch) {
  RETURN_IF_ERROR(broken_);
  const std::string text = str_cat(kMagic, frame(batch));
  const auto replace = [&]() -> Status {
    file_ = nullptr;
    RETURN_IF_ERROR(files_.write_file_atomic(path(), text));
    ASSIGN_OR_RETURN(file_, files_.append_file(path()));
    return absl::OkStatus();
  };
  broken_ = annotate(replace(), "journal");
  rewritten_bytes_ = static_cast<int64_t>(text.size());
  appended_bytes_ = 0;
  return broken_;
}

Status Journal::append(const wire::Batch& batch) {
  RETURN_IF_ERROR(broken_);
  CHECK_MSG(file_ != nullptr, "rewrite() comes first");
  const std::string text = frame(batch);
  // After half of a batch nothing may follow: a later one would make it damage instead of a torn
  // end.
  broken_ = annotate(file_->append(text), "journal");
  if (broken_.ok()) broken_ = annotate(file_->sync(), "journal");
  appended_bytes_ += static_cast<int64_t>(text.size());
  return broken_;
}

bool Journal::is_long() const {
  constexpr int64_t kLeast = int64_t{16} << 20;
  return appended_bytes_ > kLeast + 4 * rewritten_bytes_;
}

}  // namespace tessera::coord
