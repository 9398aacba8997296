#include "tessera/storage/s3_messages.h"

#include <openssl/evp.h>

#include <array>
#include <iterator>
#include <pugixml.hpp>

#include "absl/strings/escaping.h"
#include "tessera/base/crc32c.h"

namespace tessera {
namespace {

struct Known {
  std::string_view code;
  absl::StatusCode status;
  std::string_view remedy;
};

using Code = absl::StatusCode;
constexpr Known kKnown[] = {
    {"NoSuchBucket", Code::kFailedPrecondition,
     "make the bucket, or mend its name in the s3:// path"},
    {"InvalidBucketName", Code::kFailedPrecondition, "mend the bucket's name in the s3:// path"},
    {"AccessDenied", Code::kPermissionDenied,
     "these credentials may not do this: they need s3:ListBucket, s3:GetObject, s3:PutObject, "
     "s3:DeleteObject, s3:AbortMultipartUpload and s3:ListBucketMultipartUploads there"},
    {"AllAccessDisabled", Code::kPermissionDenied, "another bucket is needed"},
    {"InvalidAccessKeyId", Code::kPermissionDenied,
     "the store knows no such access key: check AWS_ACCESS_KEY_ID or AWS_PROFILE, and whether "
     "AWS_ENDPOINT_URL is the store that gave it"},
    {"SignatureDoesNotMatch", Code::kPermissionDenied,
     "check AWS_SECRET_ACCESS_KEY, and AWS_REGION"},
    {"ExpiredToken", Code::kPermissionDenied,
     "the temporary credentials have expired: get new ones and set AWS_ACCESS_KEY_ID, "
     "AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN"},
    {"InvalidToken", Code::kPermissionDenied, "check AWS_SESSION_TOKEN"},
    {"RequestTimeTooSkewed", Code::kFailedPrecondition, "set this machine's clock"},
    {"PermanentRedirect", Code::kFailedPrecondition,
     "the bucket is in another region: set AWS_REGION"},
    {"AuthorizationHeaderMalformed", Code::kFailedPrecondition,
     "the bucket is in another region: set AWS_REGION"},
    {"IllegalLocationConstraintException", Code::kFailedPrecondition, "set AWS_REGION"},
    {"PreconditionFailed", Code::kAlreadyExists, ""},
    {"NoSuchKey", Code::kNotFound, ""},
    {"NoSuchUpload", Code::kNotFound, ""},
    {"InvalidRange", Code::kOutOfRange, ""},
    {"EntityTooLarge", Code::kResourceExhausted, ""},
    {"QuotaExceeded", Code::kResourceExhausted, "free space in the bucket, or raise its quota"},
    {"XMinioStorageFull", Code::kResourceExhausted, "free space in the store"},
    {"BadDigest", Code::kDataLoss, "the bytes changed on their way"},
    {"XAmzContentSHA256Mismatch", Code::kDataLoss, "the bytes changed on their way"},
};

Known known_of(const S3Error& error) {
  for (const Known& known : kKnown) {
    if (known.code == error.code) return known;
  }
  switch (error.http_code) {  // an answer to HEAD has no text
    case 301:
    case 307:
      return {"", Code::kFailedPrecondition, "the bucket is in another region: set AWS_REGION"};
    case 401:
    case 403:
      return {"", Code::kPermissionDenied,
              "check the credentials (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY or AWS_PROFILE) and "
              "what they may do in this bucket"};
    case 404:
      return {"", Code::kNotFound, ""};
    case 412:
      return {"", Code::kAlreadyExists, ""};
    case 416:
      return {"", Code::kOutOfRange, ""};
    default:
      break;
  }
  if (is_worth_retrying(error)) return {"", Code::kUnavailable, ""};
  if (error.http_code / 100 == 2 || error.code.empty()) {
    return {"", Code::kFailedPrecondition, "is AWS_ENDPOINT_URL an S3 store?"};
  }
  return {"", Code::kInternal, ""};
}

Status parse(std::string_view xml, std::string_view root, pugi::xml_document* document) {
  const pugi::xml_parse_result result = document->load_buffer(xml.data(), xml.size());
  if (result && std::string_view(document->document_element().name()) == root) {
    return absl::OkStatus();
  }
  return failed_precondition("the answer is no ", root, " of S3: is AWS_ENDPOINT_URL an S3 store?");
}

std::span<const unsigned char> raw(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()};
}

std::string digest(const EVP_MD* kind, std::span<const std::byte> bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out;
  unsigned size = 0;
  CHECK(EVP_Digest(raw(bytes).data(), bytes.size(), out.data(), &size, kind, nullptr) == 1);
  return std::string(reinterpret_cast<const char*>(out.data()), size);
}

std::string text_of(const pugi::xml_document& document) {
  struct Writer : pugi::xml_writer {
    std::string text;
    void write(const void* data, size_t size) override {
      text.append(static_cast<const char*>(data), size);
    }
  } writer;
  document.save(writer, "", pugi::format_raw | pugi::format_no_declaration);
  return writer.text;
}

void add_text(pugi::xml_node parent, const char* name, const std::string& text) {
  parent.append_child(name).append_child(pugi::node_pcdata).set_value(text.c_str());
}

}  // namespace

S3Error parse_s3_error(int http_code, std::string_view body, std::string_view request_id) {
  S3Error error{http_code, "", "", std::string(request_id)};
  pugi::xml_document document;
  if (!parse(body, "Error", &document).ok()) return error;
  const pugi::xml_node root = document.document_element();
  error.code = root.child_value("Code");
  error.message = root.child_value("Message");
  if (error.request_id.empty()) error.request_id = root.child_value("RequestId");
  return error;
}

bool is_worth_retrying(const S3Error& error) {
  for (const std::string_view code :
       {"SlowDown", "SlowDownRead", "SlowDownWrite", "InternalError", "ServiceUnavailable",
        "RequestTimeout", "ThrottlingException", "Throttling", "RequestLimitExceeded",
        "ConditionalRequestConflict", "OperationAborted", "BadDigest",
        "XAmzContentSHA256Mismatch"}) {
    if (error.code == code) return true;
  }
  switch (error.http_code) {
    case 408:
    case 429:
    case 500:
    case 502:
    case 503:
    case 504:
      return true;
    default:
      return false;
  }
}

Status to_status(const S3Error& error, std::string_view what) {
  const Known known = known_of(error);
  std::string text = str_cat(what, ": ", error.code.empty() ? "the store answered" : error.code);
  if (!error.message.empty()) str_append(&text, ": ", error.message);
  str_append(&text, " (HTTP ", error.http_code);
  if (!error.request_id.empty()) str_append(&text, ", request ", error.request_id);
  str_append(&text, ")");
  if (!known.remedy.empty()) str_append(&text, "; ", known.remedy);
  return Status(known.status, text);
}

Result<S3Page> parse_list(std::string_view xml) {
  pugi::xml_document document;
  RETURN_IF_ERROR(parse(xml, "ListBucketResult", &document));
  const pugi::xml_node root = document.document_element();
  S3Page page;
  for (const pugi::xml_node entry : root.children("Contents")) {
    page.objects.push_back({entry.child_value("Key"), entry.child("Size").text().as_llong()});
  }
  for (const pugi::xml_node entry : root.children("CommonPrefixes")) {
    page.prefixes.emplace_back(entry.child_value("Prefix"));
  }
  if (root.child("IsTruncated").text().as_bool())
    page.next = root.child_value("NextContinuationToken");
  return page;
}

Result<S3Uploads> parse_uploads(std::string_view xml) {
  pugi::xml_document document;
  RETURN_IF_ERROR(parse(xml, "ListMultipartUploadsResult", &document));
  const pugi::xml_node root = document.document_element();
  S3Uploads uploads;
  for (const pugi::xml_node entry : root.children("Upload")) {
    uploads.uploads.push_back({entry.child_value("Key"), entry.child_value("UploadId")});
  }
  if (root.child("IsTruncated").text().as_bool()) {
    uploads.next_key = root.child_value("NextKeyMarker");
    uploads.next_id = root.child_value("NextUploadIdMarker");
  }
  return uploads;
}

Result<std::string> parse_upload_id(std::string_view xml) {
  pugi::xml_document document;
  RETURN_IF_ERROR(parse(xml, "InitiateMultipartUploadResult", &document));
  std::string id = document.document_element().child_value("UploadId");
  if (id.empty()) return failed_precondition("the store gave a multipart upload no id");
  return id;
}

std::string complete_request(std::span<const S3Part> parts) {
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("CompleteMultipartUpload");
  for (const S3Part& part : parts) {
    pugi::xml_node node = root.append_child("Part");
    add_text(node, "PartNumber", std::to_string(part.number));
    add_text(node, "ETag", part.etag);
    if (!part.crc32c.empty()) add_text(node, "ChecksumCRC32C", part.crc32c);
  }
  return text_of(document);
}

std::string delete_request(std::span<const std::string> keys) {
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("Delete");
  for (const std::string& key : keys) add_text(root.append_child("Object"), "Key", key);
  add_text(root, "Quiet", "true");
  return text_of(document);
}

Status parse_delete(std::string_view xml, std::string_view bucket) {
  pugi::xml_document document;
  RETURN_IF_ERROR(parse(xml, "DeleteResult", &document));
  const pugi::xml_node error = document.document_element().child("Error");
  if (!error) return absl::OkStatus();
  return to_status({200, error.child_value("Code"), error.child_value("Message"), ""},
                   str_cat("s3://", bucket, "/", error.child_value("Key"), ": cannot delete"));
}

std::string crc32c_base64(std::span<const std::byte> bytes) {
  const uint32_t crc = crc32c(bytes);
  const char big_endian[] = {static_cast<char>(crc >> 24), static_cast<char>(crc >> 16),
                             static_cast<char>(crc >> 8), static_cast<char>(crc)};
  return absl::Base64Escape(absl::string_view(big_endian, sizeof(big_endian)));
}

std::string md5_base64(std::span<const std::byte> bytes) {
  return absl::Base64Escape(digest(EVP_md5(), bytes));
}

std::string sha256_hex(std::span<const std::byte> bytes) {
  return absl::BytesToHexString(digest(EVP_sha256(), bytes));
}

}  // namespace tessera
