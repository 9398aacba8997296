#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/clock.h"
#include "tessera/storage/http.h"
#include "tessera/storage/retry.h"
#include "tessera/storage/s3_credentials.h"
#include "tessera/storage/s3_messages.h"

namespace tessera {

/// An object: "s3://bucket/key". The key of a bucket itself is empty.
struct S3Path {
  std::string bucket;
  std::string key;

  std::string text() const { return "s3://" + bucket + "/" + key; }
};

/// Whether it begins with s3://.
bool is_s3_path(std::string_view path);
/// INVALID_ARGUMENT for what is no s3://bucket/key. Slashes at the end are dropped.
Result<S3Path> parse_s3_path(std::string_view path);

struct S3ObjectInfo {
  int64_t size_bytes = 0;
  std::string etag;
};

/// The requests that an S3-compatible object store answers. Each is signed (AWS signature 4) and
/// tried again as `retry` says when it failed for the moment; what was sent carries SHA-256 and
/// CRC-32C, which the store compares; what comes is compared with the CRC-32C that the store keeps,
/// where an object is read in full.
///
/// Any thread, any number at once. Errors: as to_status() says; UNAVAILABLE when trying again did
/// not help; every message names the object.
class S3Client {
 public:
  struct Options {
    S3Account account;
    HttpLimits limits;
    RetryPolicy retry;
    Retrier::Random random = seeded_random();
  };
  /// What a listing is asked for.
  struct ListRequest {
    S3Path prefix;          // of keys, to the byte
    bool by_folder = true;  // keys with a further slash as prefixes
    int most = 1000;        // a page
  };

  /// `clock` must outlive this.
  S3Client(Options options, Clock& clock);

  /// Creates or replaces the object, all at once. With `only_new`, ALREADY_EXISTS when there is one
  /// with other bytes.
  Status put(const S3Path& path, std::span<const std::byte> bytes, bool only_new = false);
  Result<S3ObjectInfo> head(const S3Path& path);
  /// Fills `out` from `offset` on, of the object with that ETag; what was received before a
  /// connection was cut is not asked for again. DATA_LOSS when the object was replaced meanwhile.
  Status read(const S3Path& path, int64_t offset, std::span<std::byte> out,
              const std::string& etag);
  /// All of it.
  Result<std::string> get(const S3Path& path);
  /// OK too when there is nothing.
  Status remove(const S3Path& path);
  /// At most 1000 keys.
  Status remove_many(const std::string& bucket, std::span<const std::string> keys);
  Status copy(const S3Path& from, const S3Path& to);
  /// One page; `next` of the page before.
  Result<S3Page> list_page(const ListRequest& request, const std::string& next = "");
  Result<S3Page> list_all(const ListRequest& request);

  Result<std::string> begin_upload(const S3Path& path);
  /// Part `number`, from 1 on; all but the last at least 5 MiB.
  Result<S3Part> upload_part(const S3Path& path, const std::string& id, int number,
                             std::span<const std::byte> bytes);
  /// Makes the object of the parts, `size_bytes` together.
  Status complete_upload(const S3Path& path, const std::string& id, std::span<const S3Part> parts,
                         int64_t size_bytes);
  Status abort_upload(const S3Path& path, const std::string& id);
  /// Of the keys that start with the path's.
  Result<std::vector<S3Upload>> list_uploads(const S3Path& prefix);

  /// Requests sent so far, tries included.
  int64_t requests() const { return requests_; }

 private:
  struct Call {
    std::string what;  // for messages: "cannot write"
    std::string method;
    S3Path path;
    std::vector<std::pair<std::string, std::string>> query = {};  // sorted by name
    std::vector<std::string> headers = {};
    std::span<const std::byte> body = {};
    std::span<std::byte> out = {};
    bool into_out = false;
  };
  /// Judges a successful answer; an UNAVAILABLE that it finds is tried again.
  using Check = std::function<Status(const HttpResponse&)>;
  /// Sends until an answer is good or final.
  Result<HttpResponse> send(const Call& call, const Check& check = {}, int* attempts = nullptr);
  /// One attempt. `retry_after`: what the server asked for.
  Status attempt(const Call& call, absl::Duration timeout, HttpResponse* response,
                 std::optional<absl::Duration>* retry_after);
  std::string url(const Call& call) const;
  std::string described(const Call& call) const;
  Retrier retrier() { return Retrier(options_.retry, clock_, options_.random); }

  const Options options_;
  const HttpSigning signing_;
  Clock& clock_;
  HttpClient http_;
  std::atomic<int64_t> requests_ = 0;
};

}  // namespace tessera
