#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/status.h"

// What S3's requests and answers say, apart from how they travel.

namespace tessera {

/// An answer that is no success.
struct S3Error {
  int http_code = 0;
  std::string code;  // "NoSuchBucket"; empty when the answer had none
  std::string message;
  std::string request_id;
};

/// Reads an error's body; `request_id` where the body has none.
S3Error parse_s3_error(int http_code, std::string_view body, std::string_view request_id);
/// Whether the same request may succeed later: throttled, too slow, the server's own trouble.
bool is_worth_retrying(const S3Error& error);
/// As a status that says what was tried (`what`: "s3://bucket/key: cannot write"), what the server
/// said, and the remedy. Codes: NOT_FOUND for objects, FAILED_PRECONDITION (bucket, region, clock),
/// PERMISSION_DENIED, ALREADY_EXISTS (a condition), RESOURCE_EXHAUSTED, UNAVAILABLE, INTERNAL.
Status to_status(const S3Error& error, std::string_view what);

struct S3Entry {
  std::string key;
  int64_t size_bytes = 0;
};
/// One page of a listing.
struct S3Page {
  std::vector<S3Entry> objects;
  std::vector<std::string> prefixes;  // with the delimiter at the end
  std::string next;                   // empty: the last page
};
Result<S3Page> parse_list(std::string_view xml);

struct S3Upload {
  std::string key;
  std::string id;
};
struct S3Uploads {
  std::vector<S3Upload> uploads;
  std::string next_key, next_id;  // empty: the last page
};
Result<S3Uploads> parse_uploads(std::string_view xml);
Result<std::string> parse_upload_id(std::string_view xml);

/// A part of a multipart upload, as the server knows it.
struct S3Part {
  int number = 0;
  std::string etag;
  std::string crc32c;  // base64; as sent
};
std::string complete_request(std::span<const S3Part> parts);
std::string delete_request(std::span<const std::string> keys);
/// OK, or the first of the keys that were not deleted.
Status parse_delete(std::string_view xml, std::string_view bucket);

/// The four bytes, most significant first, in base64, as x-amz-checksum-crc32c has them.
std::string crc32c_base64(std::span<const std::byte> bytes);
std::string md5_base64(std::span<const std::byte> bytes);
std::string sha256_hex(std::span<const std::byte> bytes);

}  // namespace tessera
