#include "tessera/base/memory_store.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace tessera {
namespace {

class MemoryReadableFile final : public ReadableFile {
 public:
  MemoryReadableFile(std::string path, std::shared_ptr<const std::string> bytes)
      : path_(std::move(path)), bytes_(std::move(bytes)) {}

  int64_t size_bytes() const override { return std::ssize(*bytes_); }
  Status read_at(int64_t offset, std::span<std::byte> out) const override {
    if (offset < 0 || offset + std::ssize(out) > size_bytes()) {
      return absl::OutOfRangeError(str_cat(path_, ": ends before byte ", offset + std::ssize(out)));
    }
    if (!out.empty()) std::memcpy(out.data(), bytes_->data() + offset, out.size());
    return absl::OkStatus();
  }

 private:
  const std::string path_;
  const std::shared_ptr<const std::string> bytes_;
};

}  // namespace

class MemoryWritableFile final : public WritableFile {
 public:
  MemoryWritableFile(MemoryStore& store, std::string path)
      : store_(store), path_(std::move(path)) {}

  Status append(std::span<const std::byte> bytes) override {
    text_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return absl::OkStatus();
  }
  Status sync() override { return absl::OkStatus(); }
  Status close() override {
    const std::lock_guard lock(store_.mutex_);
    store_.files_[path_] = std::make_shared<const std::string>(std::move(text_));
    return absl::OkStatus();
  }

 private:
  MemoryStore& store_;
  const std::string path_;
  std::string text_;
};

Result<std::unique_ptr<ReadableFile>> MemoryStore::open_file(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto file = files_.find(path);
  if (file == files_.end()) return not_found(path, ": is not there");
  return std::make_unique<MemoryReadableFile>(path, file->second);
}

Result<std::unique_ptr<WritableFile>> MemoryStore::create_file(const std::string& path) {
  return std::make_unique<MemoryWritableFile>(*this, path);
}

Result<std::unique_ptr<WritableFile>> MemoryStore::append_file(const std::string& path) {
  return unimplemented(path, ": an object store cannot write at a file's end");
}

Status MemoryStore::rename(const std::string& from, const std::string&) {
  return unimplemented(from, ": this store renames nothing");
}

Status MemoryStore::remove(const std::string& path) {
  const std::lock_guard lock(mutex_);
  files_.erase(path);
  return absl::OkStatus();
}

Result<std::vector<FileInfo>> MemoryStore::list(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const std::string prefix = path + "/";
  std::vector<FileInfo> entries;
  for (auto it = files_.lower_bound(prefix); it != files_.end() && it->first.starts_with(prefix);
       ++it) {
    const std::string rest = it->first.substr(prefix.size());
    const size_t slash = rest.find('/');
    FileInfo info{rest.substr(0, slash), slash != std::string::npos, 0};
    if (!info.is_directory) info.size_bytes = std::ssize(*it->second);
    if (entries.empty() || entries.back().name != info.name) entries.push_back(std::move(info));
  }
  if (entries.empty()) return not_found(path, ": is not there");
  std::ranges::sort(entries, {}, &FileInfo::name);
  return entries;
}

Result<FileInfo> MemoryStore::stat(const std::string& path) {
  {
    const std::lock_guard lock(mutex_);
    const auto file = files_.find(path);
    if (file != files_.end()) return FileInfo{base_name(path), false, std::ssize(*file->second)};
  }
  RETURN_IF_ERROR(list(path).status());
  return FileInfo{base_name(path), true, 0};
}

Result<int64_t> MemoryStore::free_bytes(const std::string&) {
  return std::numeric_limits<int64_t>::max();
}

Status MemoryStore::create_once(const std::string& path, std::string_view text) {
  const std::lock_guard lock(mutex_);
  const bool is_new = files_.emplace(path, std::make_shared<const std::string>(text)).second;
  if (is_new) return absl::OkStatus();
  return absl::AlreadyExistsError(str_cat(path, ": is there already"));
}

std::vector<std::string> MemoryStore::names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, bytes] : files_) names.push_back(name);
  return names;
}

}  // namespace tessera
