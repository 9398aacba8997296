#include "tessera/base/faulty_filesystem.h"

#include <algorithm>
#include <utility>

namespace tessera {
namespace {

/// `path` with its leading `from` replaced, when it is `from` or below it.
std::string moved(const std::string& path, const std::string& from, const std::string& to) {
  if (path == from) return to;
  if (path.starts_with(from + "/")) return to + path.substr(from.size());
  return path;
}

}  // namespace

template <typename Operation>
Status FaultyFileSystem::answered(const Operation& operation) {
  const bool was_alive = !crashed();
  const Status fault = next_operation();
  if (fault.ok()) return operation();
  if (was_alive && lose_answers_) (void)operation();
  return fault;
}

class FaultyWritableFile final : public WritableFile {
 public:
  FaultyWritableFile(FaultyFileSystem& system, std::string path, int64_t size_bytes,
                     std::unique_ptr<WritableFile> base)
      : system_(system), path_(std::move(path)), size_bytes_(size_bytes), base_(std::move(base)) {}

  Status append(std::span<const std::byte> bytes) override {
    const Status fault = system_.next_operation();
    if (!fault.ok()) {
      if (system_.crashed()) (void)base_->append(bytes.first(bytes.size() / 2));
      return fault;
    }
    const int64_t wanted = static_cast<int64_t>(bytes.size());
    const int64_t fits = system_.take_bytes(wanted);
    RETURN_IF_ERROR(base_->append(bytes.first(static_cast<size_t>(fits))));
    size_bytes_ += fits;
    if (fits == wanted) return absl::OkStatus();
    return absl::ResourceExhaustedError(str_cat(path_, ": cannot write: No space left on device (",
                                                wanted - fits, " bytes to write, 0 free)"));
  }

  Status sync() override {
    RETURN_IF_ERROR(system_.next_operation());
    system_.note_synced(path_, size_bytes_);
    return absl::OkStatus();
  }

  Status close() override {
    return system_.answered([&] { return base_->close(); });
  }

 private:
  FaultyFileSystem& system_;
  std::string path_;
  int64_t size_bytes_;
  std::unique_ptr<WritableFile> base_;
};

class CountedReadableFile final : public ReadableFile {
 public:
  CountedReadableFile(FaultyFileSystem& system, std::unique_ptr<ReadableFile> base)
      : system_(system), base_(std::move(base)) {}

  int64_t size_bytes() const override { return base_->size_bytes(); }
  Status read_at(int64_t offset, std::span<std::byte> out) const override {
    system_.bytes_read_ += static_cast<int64_t>(out.size());
    return base_->read_at(offset, out);
  }

 private:
  FaultyFileSystem& system_;
  const std::unique_ptr<ReadableFile> base_;
};

void FaultyFileSystem::fail_operation(int64_t index, Status status) {
  const std::lock_guard lock(mutex_);
  failures_[index] = std::move(status);
}

void FaultyFileSystem::crash_at(int64_t index) {
  const std::lock_guard lock(mutex_);
  crash_at_ = index;
}

void FaultyFileSystem::limit_bytes(int64_t bytes, bool seen) {
  const std::lock_guard lock(mutex_);
  bytes_left_ = bytes;
  limit_seen_ = seen;
}

void FaultyFileSystem::heal() {
  const std::lock_guard lock(mutex_);
  crash_at_.reset();
  crashed_ = false;
  failures_.clear();
  bytes_left_.reset();
}

int64_t FaultyFileSystem::operations() const {
  const std::lock_guard lock(mutex_);
  return operations_;
}

bool FaultyFileSystem::crashed() const {
  const std::lock_guard lock(mutex_);
  return crashed_;
}

Status FaultyFileSystem::check_alive() const {
  const std::lock_guard lock(mutex_);
  return crashed_ ? absl::AbortedError("injected crash") : absl::OkStatus();
}

Status FaultyFileSystem::next_operation() {
  const std::lock_guard lock(mutex_);
  if (crashed_) return absl::AbortedError("injected crash, before");
  const int64_t index = operations_++;
  if (crash_at_ == index) {
    crashed_ = true;
    return absl::AbortedError("injected crash");
  }
  const auto failure = failures_.find(index);
  return failure == failures_.end() ? absl::OkStatus() : failure->second;
}

int64_t FaultyFileSystem::take_bytes(int64_t wanted) {
  const std::lock_guard lock(mutex_);
  if (!bytes_left_) return wanted;
  const int64_t fits = std::min(wanted, *bytes_left_);
  *bytes_left_ -= fits;
  return fits;
}

void FaultyFileSystem::note_synced(const std::string& path, int64_t size_bytes) {
  const std::lock_guard lock(mutex_);
  const auto file = synced_bytes_.find(path);
  if (file != synced_bytes_.end()) file->second = size_bytes;
}

void FaultyFileSystem::move_pending(const std::string& from, const std::string& to) {
  std::map<std::string, int64_t> files;
  for (const auto& [path, size] : synced_bytes_) files[moved(path, from, to)] = size;
  synced_bytes_ = std::move(files);
  for (PendingName& name : pending_names_) {
    name.path = moved(name.path, from, to);
    name.renamed_from = moved(name.renamed_from, from, to);
  }
}

Result<std::unique_ptr<ReadableFile>> FaultyFileSystem::open_file(const std::string& path) {
  RETURN_IF_ERROR(check_alive());
  ASSIGN_OR_RETURN(auto file, base_.open_file(path));
  return std::make_unique<CountedReadableFile>(*this, std::move(file));
}

Result<std::unique_ptr<WritableFile>> FaultyFileSystem::open_to_write(const std::string& path,
                                                                      bool append) {
  RETURN_IF_ERROR(next_operation());
  const Result<int64_t> old_size = base_.file_size(path);
  auto file = append ? base_.append_file(path) : base_.create_file(path);
  RETURN_IF_ERROR(file.status());
  const int64_t size = append && old_size.ok() ? *old_size : 0;
  {
    const std::lock_guard lock(mutex_);
    synced_bytes_.emplace(path, size);
    if (!append) synced_bytes_[path] = 0;
    if (!old_size.ok()) pending_names_.push_back({path, ""});
  }
  return std::make_unique<FaultyWritableFile>(*this, path, size, *std::move(file));
}

Result<std::unique_ptr<WritableFile>> FaultyFileSystem::create_file(const std::string& path) {
  return open_to_write(path, false);
}

Result<std::unique_ptr<WritableFile>> FaultyFileSystem::append_file(const std::string& path) {
  return open_to_write(path, true);
}

Status FaultyFileSystem::create_dir(const std::string& path) {
  RETURN_IF_ERROR(next_operation());
  const bool existed = base_.exists(path);
  RETURN_IF_ERROR(base_.create_dir(path));
  const std::lock_guard lock(mutex_);
  if (!existed) pending_names_.push_back({path, ""});
  return absl::OkStatus();
}

Status FaultyFileSystem::rename(const std::string& from, const std::string& to) {
  RETURN_IF_ERROR(next_operation());
  const bool replaces = base_.exists(to);
  RETURN_IF_ERROR(base_.rename(from, to));
  const std::lock_guard lock(mutex_);
  if (replaces) {
    std::erase_if(pending_names_, [&](const PendingName& name) { return name.path == from; });
  }
  move_pending(from, to);
  if (!replaces) pending_names_.push_back({to, from});
  return absl::OkStatus();
}

Status FaultyFileSystem::remove(const std::string& path) {
  RETURN_IF_ERROR(answered([&] { return base_.remove(path); }));
  const std::lock_guard lock(mutex_);
  synced_bytes_.erase(path);
  std::erase_if(pending_names_, [&](const PendingName& name) { return name.path == path; });
  return absl::OkStatus();
}

Status FaultyFileSystem::sync_dir(const std::string& path) {
  RETURN_IF_ERROR(next_operation());
  const std::lock_guard lock(mutex_);
  std::erase_if(pending_names_,
                [&](const PendingName& name) { return parent_path(name.path) == path; });
  return absl::OkStatus();
}

Result<std::vector<FileInfo>> FaultyFileSystem::list(const std::string& path) {
  RETURN_IF_ERROR(check_alive());
  return base_.list(path);
}

Result<FileInfo> FaultyFileSystem::stat(const std::string& path) {
  RETURN_IF_ERROR(check_alive());
  return base_.stat(path);
}

Result<int64_t> FaultyFileSystem::free_bytes(const std::string& path) {
  RETURN_IF_ERROR(check_alive());
  const std::lock_guard lock(mutex_);
  if (bytes_left_ && limit_seen_) return *bytes_left_;
  return base_.free_bytes(path);
}

Status FaultyFileSystem::create_once(const std::string& path, std::string_view text) {
  if (renames_folders(path)) return FileSystem::create_once(path, text);
  return answered([&] { return base_.create_once(path, text); });
}

Status FaultyFileSystem::discard_unfinished(const std::string& path) {
  RETURN_IF_ERROR(check_alive());
  return base_.discard_unfinished(path);
}

Status FaultyFileSystem::truncate(const std::string& path, int64_t size_bytes) {
  ASSIGN_OR_RETURN(std::string text, base_.read_file(path));
  if (static_cast<int64_t>(text.size()) <= size_bytes) return absl::OkStatus();
  text.resize(static_cast<size_t>(size_bytes));
  return base_.write_file(path, {std::as_bytes(std::span(text))});
}

Status FaultyFileSystem::lose_unsynced() {
  const std::lock_guard lock(mutex_);
  for (const auto& [path, size] : synced_bytes_) {
    if (base_.exists(path)) RETURN_IF_ERROR(truncate(path, size));
  }
  while (!pending_names_.empty()) {
    const PendingName name = std::move(pending_names_.back());
    pending_names_.pop_back();
    if (name.renamed_from.empty()) {
      RETURN_IF_ERROR(base_.remove_tree(name.path));
    } else if (base_.exists(name.path)) {
      RETURN_IF_ERROR(base_.rename(name.path, name.renamed_from));
      move_pending(name.path, name.renamed_from);
    }
  }
  synced_bytes_.clear();
  return absl::OkStatus();
}

}  // namespace tessera
