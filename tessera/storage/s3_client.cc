#include "tessera/storage/s3_client.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "tessera/base/log.h"

namespace tessera {
namespace {

constexpr std::string_view kScheme = "s3://";

/// Whether a bucket's name can stand before the host, under a certificate for *.s3.amazonaws.com.
bool is_host_label(std::string_view bucket) {
  return std::ranges::all_of(
      bucket, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

bool is_error_document(const std::string& body) {
  return body.find("<Error>") != std::string::npos || body.find("<Error ") != std::string::npos;
}

/// Some stores answer 200 and say in the body that it failed after all.
Status check_for_error(const HttpResponse& response, std::string_view what) {
  if (!is_error_document(response.body)) return absl::OkStatus();
  return to_status(
      parse_s3_error(response.code, response.body, response.header("x-amz-request-id")), what);
}

/// A checksum with a dash is one of the parts' checksums.
bool is_whole_checksum(const std::string& checksum) {
  return !checksum.empty() && checksum.find('-') == std::string::npos;
}

Status wrong_in_store(std::string_view what, std::string_view stored, std::string_view sent) {
  return absl::UnavailableError(
      str_cat(what, ": the store has CRC-32C ", stored, " instead of ", sent));
}

Status wrong_on_arrival(std::string_view what, std::string_view expected) {
  return absl::UnavailableError(
      str_cat(what, ": the bytes received do not have its CRC-32C, ", expected));
}

Status given_up(const Status& last, const Retrier& tries) {
  return absl::UnavailableError(
      str_cat(from_absl(last.message()), ", after ", tries.attempts(), " tries"));
}

}  // namespace

bool is_s3_path(std::string_view path) { return path.starts_with(kScheme); }

Result<S3Path> parse_s3_path(std::string_view path) {
  if (!is_s3_path(path)) return invalid_argument("'", path, "' does not begin with ", kScheme);
  std::string_view rest = path.substr(kScheme.size());
  while (rest.ends_with('/')) rest.remove_suffix(1);
  const size_t slash = rest.find('/');
  const std::string_view bucket = rest.substr(0, slash);
  const std::string_view key = slash == std::string_view::npos ? "" : rest.substr(slash + 1);
  const auto is_bad = [](char c) {
    return c == '?' || c == '#' || c == '%' || c == '@' || c <= ' ';
  };
  if (bucket.empty() || std::ranges::any_of(bucket, is_bad)) {
    return invalid_argument("'", path, "' has no bucket: write s3://bucket/folder");
  }
  if (key.starts_with('/') || key.find("//") != std::string_view::npos) {
    return invalid_argument("'", path, "' has an empty part between two slashes");
  }
  return S3Path{std::string(bucket), std::string(key)};
}

S3Client::S3Client(Options options, Clock& clock)
    : options_(std::move(options)),
      signing_{options_.account.access_key_id, options_.account.secret_access_key,
               options_.account.region, "s3"},
      clock_(clock),
      http_(options_.limits) {}

// The bucket in the host's name, as AWS wants it; in the path where an endpoint is given, as other
// stores have it.
std::string S3Client::url(const Call& call) const {
  const S3Account& account = options_.account;
  std::string url = account.endpoint;
  bool bucket_in_path = true;
  if (url.empty()) {
    const std::string suffix =
        account.region.starts_with("cn-") ? ".amazonaws.com.cn" : ".amazonaws.com";
    const std::string host = str_cat("s3.", account.region, suffix);
    bucket_in_path = !is_host_label(call.path.bucket);
    url = str_cat("https://", bucket_in_path ? "" : call.path.bucket + ".", host);
  }
  if (bucket_in_path) str_append(&url, "/", call.path.bucket);
  str_append(&url, "/", percent_encode(call.path.key, /*keep_slashes=*/true));
  char separator = '?';
  for (const auto& [name, value] : call.query) {
    url += std::exchange(separator, '&');
    str_append(&url, name, "=", percent_encode(value, /*keep_slashes=*/false));
  }
  return url;
}

std::string S3Client::described(const Call& call) const {
  const std::string& endpoint = options_.account.endpoint;
  return str_cat(call.path.text(), endpoint.empty() ? "" : str_cat(" at ", endpoint), ": ",
                 call.what);
}

Status S3Client::attempt(const Call& call, absl::Duration timeout, HttpResponse* response,
                         std::optional<absl::Duration>* retry_after) {
  HttpRequest request{.method = call.method,
                      .url = url(call),
                      .headers = call.headers,
                      .body = call.body,
                      .out = call.out,
                      .into_out = call.into_out,
                      .timeout = timeout,
                      .signing = &signing_};
  request.headers.push_back("x-amz-content-sha256: " + sha256_hex(call.body));
  if (!options_.account.session_token.empty()) {
    request.headers.push_back("x-amz-security-token: " + options_.account.session_token);
  }
  if (call.method == "PUT" || call.method == "POST") {
    request.headers.push_back("Content-Type: application/octet-stream");
  }
  ++requests_;
  const Status sent = http_.send(request, response);
  if (!sent.ok()) return annotate(sent, described(call));
  if (response->code / 100 == 2) return absl::OkStatus();
  if (int seconds = 0; absl::SimpleAtoi(response->header("retry-after"), &seconds)) {
    *retry_after = absl::Seconds(seconds);
  }
  const S3Error error =
      parse_s3_error(response->code, response->body, response->header("x-amz-request-id"));
  const Status status = to_status(error, described(call));
  // DATA_LOSS on the way there is mended by sending again.
  return is_worth_retrying(error) ? absl::UnavailableError(status.message()) : status;
}

Result<HttpResponse> S3Client::send(const Call& call, const Check& check, int* attempts) {
  Retrier tries = retrier();
  while (true) {
    HttpResponse response;
    std::optional<absl::Duration> retry_after;
    if (attempts != nullptr) *attempts = tries.attempts();
    Status status = attempt(call, tries.left(), &response, &retry_after);
    if (status.ok() && check) status = check(response);
    if (status.ok()) return response;
    if (!absl::IsUnavailable(status)) return status;
    if (!tries.wait(retry_after)) return given_up(status, tries);
    log_debug(from_absl(status.message()), "; trying again");
  }
}

Status S3Client::put(const S3Path& path, std::span<const std::byte> bytes, bool only_new) {
  const std::string checksum = crc32c_base64(bytes);
  Call call{.what = "cannot write", .method = "PUT", .path = path, .body = bytes};
  call.headers.push_back("x-amz-checksum-crc32c: " + checksum);
  call.headers.push_back("x-amz-sdk-checksum-algorithm: CRC32C");
  if (only_new) call.headers.push_back("If-None-Match: *");
  const auto check = [&](const HttpResponse& response) -> Status {
    const std::string stored = response.header("x-amz-checksum-crc32c");
    if (!is_whole_checksum(stored) || stored == checksum) return absl::OkStatus();
    return wrong_in_store(described(call), stored, checksum);
  };
  int attempts = 0;
  const Status status = send(call, check, &attempts).status();
  if (!absl::IsAlreadyExists(status) || attempts == 1) return status;
  // The answer to an earlier try may have been lost, and what is there be ours.
  const Result<std::string> stored = get(path);
  const bool is_ours = stored.ok() && std::ranges::equal(std::as_bytes(std::span(*stored)), bytes);
  return is_ours ? absl::OkStatus() : status;
}

Result<S3ObjectInfo> S3Client::head(const S3Path& path) {
  ASSIGN_OR_RETURN(const HttpResponse response,
                   send({.what = "cannot look at it", .method = "HEAD", .path = path}));
  S3ObjectInfo info{0, response.header("etag")};
  if (absl::SimpleAtoi(response.header("content-length"), &info.size_bytes)) return info;
  return failed_precondition(path.text(), ": the store does not say its size");
}

Status S3Client::read(const S3Path& path, int64_t offset, std::span<std::byte> out,
                      const std::string& etag) {
  if (out.empty()) return absl::OkStatus();
  Retrier tries = retrier();
  size_t done = 0;
  while (true) {
    const int64_t from = offset + static_cast<int64_t>(done);
    const int64_t last = offset + std::ssize(out) - 1;
    Call call{
        .what = str_cat("cannot read bytes ", from, " to ", last),
        .method = "GET",
        .path = path,
        .headers = {str_cat("Range: bytes=", from, "-", last), "x-amz-checksum-mode: ENABLED"},
        .out = out.subspan(done),
        .into_out = true};
    if (!etag.empty()) call.headers.push_back("If-Match: " + etag);
    HttpResponse response;
    std::optional<absl::Duration> retry_after;
    Status status = attempt(call, tries.left(), &response, &retry_after);
    if (absl::IsAlreadyExists(status)) {
      return data_loss(path.text(), ": was replaced while it was read");
    }
    if (response.code == 200 && from > 0) {
      return failed_precondition(described(call),
                                 ": the store sends all of it: it knows no ranges");
    }
    const bool is_progress = response.received > 0;
    done += static_cast<size_t>(response.received);
    if (status.ok() && done == out.size()) {
      const std::string checksum = response.header("x-amz-checksum-crc32c");
      const bool is_whole = response.header("content-range").ends_with(str_cat("/", out.size()));
      if (offset > 0 || !is_whole || !is_whole_checksum(checksum) ||
          checksum == crc32c_base64(out)) {
        return absl::OkStatus();
      }
      done = 0;
      status = wrong_on_arrival(described(call), checksum);
    } else {
      if (status.ok()) {
        status = absl::UnavailableError(str_cat(described(call), ": the answer ended early"));
      }
      if (is_progress) tries.progressed();
    }
    if (!absl::IsUnavailable(status)) return status;
    if (!tries.wait(retry_after)) return given_up(status, tries);
  }
}

Result<std::string> S3Client::get(const S3Path& path) {
  const Call call{.what = "cannot read",
                  .method = "GET",
                  .path = path,
                  .headers = {"x-amz-checksum-mode: ENABLED"}};
  ASSIGN_OR_RETURN(HttpResponse response, send(call, [&](const HttpResponse& response) -> Status {
                     const std::string stored = response.header("x-amz-checksum-crc32c");
                     const auto bytes = std::as_bytes(std::span(response.body));
                     if (!is_whole_checksum(stored) || stored == crc32c_base64(bytes)) {
                       return absl::OkStatus();
                     }
                     return wrong_on_arrival(described(call), stored);
                   }));
  return std::move(response.body);
}

Status S3Client::remove(const S3Path& path) {
  const Status status = send({.what = "cannot delete", .method = "DELETE", .path = path}).status();
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

Status S3Client::remove_many(const std::string& bucket, std::span<const std::string> keys) {
  if (keys.empty()) return absl::OkStatus();
  const std::string body = delete_request(keys);
  const auto bytes = std::as_bytes(std::span(body));
  const Call call{.what = str_cat("cannot delete ", keys.size(), " objects, ", keys.front(), " …"),
                  .method = "POST",
                  .path = {bucket, ""},
                  .query = {{"delete", ""}},
                  .headers = {"Content-MD5: " + md5_base64(bytes)},
                  .body = bytes};
  return send(call,
              [&](const HttpResponse& response) { return parse_delete(response.body, bucket); })
      .status();
}

Status S3Client::copy(const S3Path& from, const S3Path& to) {
  const std::string source = percent_encode(str_cat(from.bucket, "/", from.key), true);
  const Call call{.what = "cannot copy " + from.text() + " to it",
                  .method = "PUT",
                  .path = to,
                  .headers = {"x-amz-copy-source: " + source}};
  return send(call,
              [&](const HttpResponse& response) {
                return check_for_error(response, described(call));
              })
      .status();
}

Result<S3Page> S3Client::list_page(const ListRequest& request, const std::string& next) {
  Call call{.what = "cannot list", .method = "GET", .path = {request.prefix.bucket, ""}};
  if (!next.empty()) call.query.emplace_back("continuation-token", next);
  if (request.by_folder) call.query.emplace_back("delimiter", "/");
  call.query.emplace_back("list-type", "2");
  call.query.emplace_back("max-keys", std::to_string(request.most));
  call.query.emplace_back("prefix", request.prefix.key);
  ASSIGN_OR_RETURN(const HttpResponse response, send(call));
  Result<S3Page> page = parse_list(response.body);
  if (!page.ok()) return annotate(page.status(), described(call));
  return page;
}

Result<S3Page> S3Client::list_all(const ListRequest& request) {
  S3Page all;
  do {
    ASSIGN_OR_RETURN(S3Page page, list_page(request, all.next));
    std::ranges::move(page.objects, std::back_inserter(all.objects));
    std::ranges::move(page.prefixes, std::back_inserter(all.prefixes));
    all.next = std::move(page.next);
  } while (!all.next.empty());
  return all;
}

Result<std::string> S3Client::begin_upload(const S3Path& path) {
  const Call call{.what = "cannot begin to write",
                  .method = "POST",
                  .path = path,
                  .query = {{"uploads", ""}},
                  .headers = {"x-amz-checksum-algorithm: CRC32C"}};
  ASSIGN_OR_RETURN(const HttpResponse response, send(call));
  Result<std::string> id = parse_upload_id(response.body);
  if (!id.ok()) return annotate(id.status(), described(call));
  return id;
}

Result<S3Part> S3Client::upload_part(const S3Path& path, const std::string& id, int number,
                                     std::span<const std::byte> bytes) {
  S3Part part{number, "", crc32c_base64(bytes)};
  const Call call{.what = str_cat("cannot write part ", number),
                  .method = "PUT",
                  .path = path,
                  .query = {{"partNumber", std::to_string(number)}, {"uploadId", id}},
                  .headers = {"x-amz-checksum-crc32c: " + part.crc32c},
                  .body = bytes};
  ASSIGN_OR_RETURN(const HttpResponse response,
                   send(call, [&](const HttpResponse& answer) -> Status {
                     const std::string stored = answer.header("x-amz-checksum-crc32c");
                     if (stored.empty() || stored == part.crc32c) return absl::OkStatus();
                     return wrong_in_store(described(call), stored, part.crc32c);
                   }));
  part.etag = response.header("etag");
  if (part.etag.empty()) return failed_precondition(described(call), ": the answer has no ETag");
  // A store without such checksums does not know them when the parts are put together.
  if (response.header("x-amz-checksum-crc32c").empty()) part.crc32c.clear();
  return part;
}

Status S3Client::complete_upload(const S3Path& path, const std::string& id,
                                 std::span<const S3Part> parts, int64_t size_bytes) {
  const std::string body = complete_request(parts);
  const Call call{.what = "cannot put its parts together",
                  .method = "POST",
                  .path = path,
                  .query = {{"uploadId", id}},
                  .body = std::as_bytes(std::span(body))};
  int attempts = 0;
  const Status status =
      send(
          call, [&](const HttpResponse& r) { return check_for_error(r, described(call)); },
          &attempts)
          .status();
  if (!absl::IsNotFound(status) || attempts == 1) return status;
  // The upload is gone: an earlier try made the object, and its answer was lost.
  const Result<S3ObjectInfo> info = head(path);
  return info.ok() && info->size_bytes == size_bytes ? absl::OkStatus() : status;
}

Status S3Client::abort_upload(const S3Path& path, const std::string& id) {
  const Status status = send({.what = "cannot discard its parts",
                              .method = "DELETE",
                              .path = path,
                              .query = {{"uploadId", id}}})
                            .status();
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

Result<std::vector<S3Upload>> S3Client::list_uploads(const S3Path& prefix) {
  std::vector<S3Upload> all;
  S3Uploads page;
  do {
    Call call{
        .what = "cannot list unfinished uploads", .method = "GET", .path = {prefix.bucket, ""}};
    if (!page.next_key.empty()) call.query.emplace_back("key-marker", page.next_key);
    call.query.emplace_back("prefix", prefix.key);
    if (!page.next_key.empty()) call.query.emplace_back("upload-id-marker", page.next_id);
    call.query.emplace_back("uploads", "");
    ASSIGN_OR_RETURN(const HttpResponse response, send(call));
    ASSIGN_OR_RETURN(page, parse_uploads(response.body));
    std::ranges::move(page.uploads, std::back_inserter(all));
  } while (!page.next_key.empty());
  return all;
}

}  // namespace tessera
