#include "tessera/storage/s3_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/base/usage_error.h"
#include "tessera/storage/any_filesystem.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST(S3Messages, ErrorsBecomeStatusesWithTheirRemedies) {
  const S3Error error = parse_s3_error(
      403,
      "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code><Message>No &amp; no</Message>"
      "<RequestId>R1</RequestId></Error>",
      "");
  const Status status = to_status(error, "s3://b/k: cannot write");
  EXPECT_TRUE(absl::IsPermissionDenied(status));
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("s3://b/k: cannot write: AccessDenied: No & no (HTTP 403, request "
                              "R1); "),
                    HasSubstr("s3:PutObject")));
  const auto code = [](int http, const char* name) {
    return to_status({http, name, "", ""}, "x").code();
  };
  EXPECT_EQ(code(404, "NoSuchKey"), absl::StatusCode::kNotFound);
  EXPECT_EQ(code(404, "NoSuchBucket"), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(code(404, ""), absl::StatusCode::kNotFound);
  EXPECT_EQ(code(412, ""), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(code(503, "SlowDown"), absl::StatusCode::kUnavailable);
  EXPECT_EQ(code(200, "InternalError"), absl::StatusCode::kUnavailable);
  EXPECT_EQ(code(400, "EntityTooSmall"), absl::StatusCode::kInternal);
  EXPECT_EQ(code(405, ""), absl::StatusCode::kFailedPrecondition);
}

TEST(S3Messages, WhatIsNoXmlOfS3IsSaidToBe) {
  for (const char* text : {"", "<html><body>hello</body></html>", "not xml", "<Error"}) {
    EXPECT_THAT(std::string(parse_list(text).status().message()),
                HasSubstr("is AWS_ENDPOINT_URL an S3 store?"));
    EXPECT_EQ(parse_s3_error(500, text, "R").code, "");
  }
}

TEST(S3Messages, ListingsAreRead) {
  const auto page = parse_list(
      "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>b</Name>"
      "<IsTruncated>true</IsTruncated><NextContinuationToken>t/1=</NextContinuationToken>"
      "<Contents><Key>a/&lt;b&gt;</Key><Size>5000000000</Size></Contents>"
      "<CommonPrefixes><Prefix>a/c/</Prefix></CommonPrefixes></ListBucketResult>");
  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_EQ(page->objects.size(), 1u);
  EXPECT_EQ(page->objects[0].key, "a/<b>");
  EXPECT_EQ(page->objects[0].size_bytes, 5'000'000'000);
  EXPECT_THAT(page->prefixes, ElementsAre("a/c/"));
  EXPECT_EQ(page->next, "t/1=");
  const auto uploads = parse_uploads(
      "<ListMultipartUploadsResult><IsTruncated>false</IsTruncated><Upload><Key>k</Key>"
      "<UploadId>u</UploadId></Upload></ListMultipartUploadsResult>");
  ASSERT_TRUE(uploads.ok()) << uploads.status();
  ASSERT_EQ(uploads->uploads.size(), 1u);
  EXPECT_EQ(uploads->uploads[0].id, "u");
}

TEST(S3Messages, RequestsAreWritten) {
  EXPECT_EQ(delete_request(std::vector<std::string>{"a&b", "c"}),
            "<Delete><Object><Key>a&amp;b</Key></Object><Object><Key>c</Key></Object>"
            "<Quiet>true</Quiet></Delete>");
  EXPECT_EQ(complete_request(std::vector<S3Part>{{1, "\"e\"", "AAAAAA=="}, {2, "f", ""}}),
            "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>\"e\"</ETag>"
            "<ChecksumCRC32C>AAAAAA==</ChecksumCRC32C></Part><Part><PartNumber>2</PartNumber>"
            "<ETag>f</ETag></Part></CompleteMultipartUpload>");
  EXPECT_TRUE(parse_delete("<DeleteResult/>", "b").ok());
  EXPECT_THAT(std::string(parse_delete("<DeleteResult><Error><Key>k</Key><Code>AccessDenied</Code>"
                                       "</Error></DeleteResult>",
                                       "b")
                              .message()),
              AllOf(HasSubstr("s3://b/k"), HasSubstr("AccessDenied")));
}

TEST(S3Messages, ChecksumsAreThoseOfTheirStandards) {
  EXPECT_EQ(crc32c_base64(bytes_of("123456789")), "4waSgw==");  // E3069283, RFC 3720
  EXPECT_EQ(md5_base64(bytes_of("")), "1B2M2Y8AsgTpgAmY7PhCfg==");
  EXPECT_EQ(sha256_hex(bytes_of("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(S3Path, IsABucketAndAKey) {
  const auto path = parse_s3_path("s3://b.c-d/e/f g/");
  ASSERT_TRUE(path.ok()) << path.status();
  EXPECT_EQ(path->bucket, "b.c-d");
  EXPECT_EQ(path->key, "e/f g");
  EXPECT_EQ(parse_s3_path("s3://b")->key, "");
  for (const char* bad : {"/tmp", "s3://", "s3:///a", "s3://b//c", "s3://b/c//d", "s3://a?b/c"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(parse_s3_path(bad).status())) << bad;
  }
  EXPECT_EQ(percent_encode("a/b c+ü~", true), "a/b%20c%2B%C3%BC~");
  EXPECT_EQ(percent_encode("a/b", false), "a%2Fb");
}

TEST(AnyFileSystem, SaysWhatToSetWhereThereAreNoCredentials) {
  AnyFileSystem files([](const std::string&) { return std::optional<std::string>(); });
  const Status status = files.check("s3://bucket/run", true);
  EXPECT_TRUE(is_usage_error(status));
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("s3://bucket/run"), HasSubstr("AWS_ACCESS_KEY_ID")));
  EXPECT_TRUE(is_usage_error(files.check("s3://", true)));
  EXPECT_FALSE(files.read_file("s3://bucket/a").ok());
  EXPECT_TRUE(files.check("/nowhere", true).ok());
}

}  // namespace
}  // namespace tessera
