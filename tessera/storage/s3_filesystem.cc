#include "tessera/storage/s3_filesystem.h"

#include <algorithm>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <utility>

namespace tessera {
namespace {

constexpr int kPartsOfOneSize = 500;  // of at most 10,000: then parts are larger

/// The prefix of what is below a folder; of a bucket everything.
S3Path below(const S3Path& path) { return {path.bucket, path.key.empty() ? "" : path.key + "/"}; }

class S3ReadableFile final : public ReadableFile {
 public:
  S3ReadableFile(S3Client& client, S3Path path, S3ObjectInfo info)
      : client_(client), path_(std::move(path)), info_(std::move(info)) {}

  int64_t size_bytes() const override { return info_.size_bytes; }
  Status read_at(int64_t offset, std::span<std::byte> out) const override {
    if (offset < 0 || offset + std::ssize(out) > info_.size_bytes) {
      return absl::OutOfRangeError(str_cat(path_.text(), ": has ", info_.size_bytes,
                                           " bytes; cannot read ", out.size(), " from byte ",
                                           offset));
    }
    return client_.read(path_, offset, out, info_.etag);
  }

 private:
  S3Client& client_;
  const S3Path path_;
  const S3ObjectInfo info_;
};

/// Gathers a part, hands it to the senders, and goes on.
class S3WritableFile final : public WritableFile {
 public:
  S3WritableFile(S3Client& client, ThreadPool& senders, S3Path path, int64_t part_bytes)
      : client_(client), senders_(senders), path_(std::move(path)), part_bytes_(part_bytes) {}

  ~S3WritableFile() override {
    wait();
    if (!upload_.empty()) (void)client_.abort_upload(path_, upload_);
  }

  Status append(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const size_t wanted = static_cast<size_t>(part_bytes_ * (1 + sent_parts_ / kPartsOfOneSize));
      // A part goes out once there is more: so a file of one part is sent at its end, whole.
      if (part_.size() == wanted) {
        RETURN_IF_ERROR(send_part());
        continue;
      }
      const size_t count = std::min(bytes.size(), wanted - part_.size());
      part_.insert(part_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
      bytes = bytes.subspan(count);
      size_bytes_ += static_cast<int64_t>(count);
    }
    return absl::OkStatus();
  }

  /// What is closed is durable; what is not is not there.
  Status sync() override { return absl::OkStatus(); }

  Status close() override {
    if (std::exchange(closed_, true)) return failed_precondition(path_.text(), ": is closed");
    if (upload_.empty()) return client_.put(path_, part_);
    Status status = part_.empty() ? absl::OkStatus() : send_part();
    wait();
    const std::lock_guard lock(mutex_);
    status.Update(failure_);
    RETURN_IF_ERROR(status);
    std::ranges::sort(parts_, {}, &S3Part::number);
    RETURN_IF_ERROR(client_.complete_upload(path_, upload_, parts_, size_bytes_));
    upload_.clear();
    return absl::OkStatus();
  }

 private:
  Status send_part() {
    {
      const std::lock_guard lock(mutex_);
      RETURN_IF_ERROR(failure_);
    }
    if (upload_.empty()) {
      ASSIGN_OR_RETURN(upload_, client_.begin_upload(path_));
    }
    {
      const std::lock_guard lock(mutex_);
      ++under_way_;
    }
    const int number = ++sent_parts_;
    auto bytes = std::make_shared<std::vector<std::byte>>(std::move(part_));
    part_ = {};
    senders_.submit([this, number, bytes = std::move(bytes)]() mutable {
      Result<S3Part> part = client_.upload_part(path_, upload_, number, *bytes);
      bytes.reset();
      const std::lock_guard lock(mutex_);
      if (part.ok()) parts_.push_back(*std::move(part));
      failure_.Update(part.status());
      --under_way_;
      idle_.notify_all();
    });
    return absl::OkStatus();
  }

  void wait() {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [&] { return under_way_ == 0; });
  }

  S3Client& client_;
  ThreadPool& senders_;
  const S3Path path_;
  const int64_t part_bytes_;
  std::vector<std::byte> part_;
  std::string upload_;  // the multipart upload's id; empty: none was begun
  int sent_parts_ = 0;
  int64_t size_bytes_ = 0;
  bool closed_ = false;
  std::mutex mutex_;  // guards what follows
  std::condition_variable idle_;
  int under_way_ = 0;
  std::vector<S3Part> parts_;
  Status failure_;
};

}  // namespace

S3FileSystem::S3FileSystem(Options options, Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      client_(options_.client, clock),
      senders_("s3-send", options_.threads, options_.threads) {}

Status S3FileSystem::check(const std::string& path, bool writes) {
  ASSIGN_OR_RETURN(const S3Path object, parse_s3_path(path));
  S3Client::Options options = options_.client;
  options.retry.attempts = std::min(options.retry.attempts, 3);
  options.retry.deadline = std::min(options.retry.deadline, absl::Seconds(30));
  S3Client client(std::move(options), clock_);
  RETURN_IF_ERROR(client.list_page({.prefix = below(object), .most = 1}).status());
  if (!writes) return absl::OkStatus();
  const S3Path probe{object.bucket, below(object).key + "write-check"};
  ASSIGN_OR_RETURN(const std::string id, client.begin_upload(probe));
  return client.abort_upload(probe, id);
}

Result<std::unique_ptr<ReadableFile>> S3FileSystem::open_file(const std::string& path) {
  ASSIGN_OR_RETURN(S3Path object, parse_s3_path(path));
  ASSIGN_OR_RETURN(S3ObjectInfo info, client_.head(object));
  return std::make_unique<S3ReadableFile>(client_, std::move(object), std::move(info));
}

Result<std::unique_ptr<WritableFile>> S3FileSystem::create_file(const std::string& path) {
  ASSIGN_OR_RETURN(S3Path object, parse_s3_path(path));
  if (object.key.empty()) return invalid_argument(path, ": is a bucket, not a file");
  return std::make_unique<S3WritableFile>(client_, senders_, std::move(object),
                                          options_.part_bytes);
}

Result<std::unique_ptr<WritableFile>> S3FileSystem::append_file(const std::string& path) {
  return unimplemented(path, ": an object store cannot write at a file's end");
}

Status S3FileSystem::create_dir(const std::string& path) { return parse_s3_path(path).status(); }

Status S3FileSystem::sync_dir(const std::string& path) { return parse_s3_path(path).status(); }

Status S3FileSystem::rename(const std::string& from, const std::string& to) {
  ASSIGN_OR_RETURN(const S3Path source, parse_s3_path(from));
  ASSIGN_OR_RETURN(const S3Path target, parse_s3_path(to));
  RETURN_IF_ERROR(client_.head(source).status());
  RETURN_IF_ERROR(client_.copy(source, target));
  return client_.remove(source);
}

Status S3FileSystem::remove(const std::string& path) {
  ASSIGN_OR_RETURN(const S3Path object, parse_s3_path(path));
  if (object.key.empty()) return invalid_argument(path, ": is a bucket, which is not removed");
  return client_.remove(object);
}

Result<std::vector<FileInfo>> S3FileSystem::list(const std::string& path) {
  ASSIGN_OR_RETURN(const S3Path folder, parse_s3_path(path));
  const S3Path prefix = below(folder);
  ASSIGN_OR_RETURN(const S3Page page, client_.list_all({.prefix = prefix}));
  std::vector<FileInfo> entries;
  for (const S3Entry& object : page.objects) {
    std::string name = object.key.substr(prefix.key.size());
    if (!name.empty()) entries.push_back({std::move(name), false, object.size_bytes});
  }
  for (const std::string& key : page.prefixes) {
    std::string name = key.substr(prefix.key.size());
    name.pop_back();
    entries.push_back({std::move(name), true, 0});
  }
  if (entries.empty() && !folder.key.empty()) return not_found(path, ": nothing is there");
  std::ranges::sort(entries, {}, &FileInfo::name);
  return entries;
}

Result<FileInfo> S3FileSystem::stat(const std::string& path) {
  ASSIGN_OR_RETURN(const S3Path object, parse_s3_path(path));
  if (!object.key.empty()) {
    const Result<S3ObjectInfo> info = client_.head(object);
    if (info.ok()) return FileInfo{base_name(object.key), false, info->size_bytes};
    if (!absl::IsNotFound(info.status())) return info.status();
  }
  ASSIGN_OR_RETURN(const S3Page page, client_.list_page({.prefix = below(object), .most = 1}));
  if (page.objects.empty() && page.prefixes.empty() && !object.key.empty()) {
    return not_found(path, ": nothing is there");
  }
  return FileInfo{base_name(object.text()), true, 0};
}

Result<int64_t> S3FileSystem::free_bytes(const std::string& path) {
  RETURN_IF_ERROR(parse_s3_path(path).status());
  return std::numeric_limits<int64_t>::max();
}

Status S3FileSystem::create_once(const std::string& path, std::string_view text) {
  ASSIGN_OR_RETURN(const S3Path object, parse_s3_path(path));
  return client_.put(object, std::as_bytes(std::span(text)), /*only_new=*/true);
}

Status S3FileSystem::discard_unfinished(const std::string& path) {
  ASSIGN_OR_RETURN(const S3Path folder, parse_s3_path(path));
  ASSIGN_OR_RETURN(const std::vector<S3Upload> uploads, client_.list_uploads(below(folder)));
  for (const S3Upload& upload : uploads) {
    RETURN_IF_ERROR(client_.abort_upload({folder.bucket, upload.key}, upload.id));
  }
  return absl::OkStatus();
}

Result<std::string> S3FileSystem::read_file(const std::string& path) {
  ASSIGN_OR_RETURN(const S3Path object, parse_s3_path(path));
  return client_.get(object);
}

Status S3FileSystem::remove_tree(const std::string& path) {
  ASSIGN_OR_RETURN(const S3Path folder, parse_s3_path(path));
  if (folder.key.empty()) return invalid_argument(path, ": is a bucket, which is not removed");
  RETURN_IF_ERROR(client_.remove(folder));
  while (true) {
    ASSIGN_OR_RETURN(const S3Page page,
                     client_.list_page({.prefix = below(folder), .by_folder = false}));
    std::vector<std::string> keys;
    for (const S3Entry& object : page.objects) keys.push_back(object.key);
    if (keys.empty()) return absl::OkStatus();
    RETURN_IF_ERROR(client_.remove_many(folder.bucket, keys));
  }
}

}  // namespace tessera
