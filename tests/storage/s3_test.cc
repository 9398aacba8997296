// What the file system makes of an S3 store: moto's, which also verifies every signature.

#include "tessera/storage/any_filesystem.h"
#include "tests/storage/store_fixture.h"

namespace tessera::storage_testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using S3Test = StoreTest;

std::string message_of(const Status& status) { return std::string(status.message()); }

TEST_F(S3Test, ASmallFileIsOneRequestAndComesBack) {
  const std::string text = bytes(1000);
  ASSERT_TRUE(write(path("a b/ü+c=d&e.txt"), text).ok());
  EXPECT_EQ(proxy_.take_requests().size(), 1u);
  EXPECT_EQ(*files_.read_file(path("a b/ü+c=d&e.txt")), text);
  EXPECT_EQ(*files_.file_size(path("a b/ü+c=d&e.txt")), 1000);
  const auto file = files_.open_file(path("a b/ü+c=d&e.txt"));
  ASSERT_TRUE(file.ok()) << file.status();
  std::string part(10, '\0');
  ASSERT_TRUE((*file)->read_at(990, std::as_writable_bytes(std::span(part))).ok());
  EXPECT_EQ(part, text.substr(990));
  EXPECT_TRUE(absl::IsOutOfRange((*file)->read_at(991, std::as_writable_bytes(std::span(part)))));
  ASSERT_TRUE(write(path("a b/ü+c=d&e.txt"), "").ok()) << "replaced";
  EXPECT_EQ(*files_.read_file(path("a b/ü+c=d&e.txt")), "");
  ASSERT_TRUE(write(path("a b/ü+c=d&e.txt"), "new").ok());
  EXPECT_TRUE(
      absl::IsDataLoss((*file)->read_at(0, std::as_writable_bytes(std::span(part)).first(3))))
      << "an open file does not become another one";
}

TEST_F(S3Test, ALargeFileIsSentInPartsAndSeenOnlyWhenItIsClosed) {
  const std::string text = bytes((12 << 20) + 5);
  auto file = files_.create_file(path("large"));
  ASSERT_TRUE(file.ok());
  for (size_t at = 0; at < text.size(); at += 3 << 20) {
    ASSERT_TRUE((*file)->append(std::string_view(text).substr(at, 3 << 20)).ok());
  }
  ASSERT_TRUE((*file)->sync().ok());
  EXPECT_TRUE(absl::IsNotFound(files_.stat(path("large")).status()));
  ASSERT_TRUE((*file)->close().ok());
  EXPECT_EQ(*files_.read_file(path("large")), text);
  int parts = 0;
  for (const std::string& line : proxy_.take_requests()) {
    parts += line.find("partNumber") != std::string::npos;
  }
  EXPECT_EQ(parts, 3);
}

TEST_F(S3Test, WhatIsNotClosedLeavesNothing) {
  {
    auto file = files_.create_file(path("run/large"));
    ASSERT_TRUE((*file)->append(bytes(6 << 20)).ok());
  }
  EXPECT_THAT(*files_.client().list_uploads({"bucket", ""}), IsEmpty());
  EXPECT_TRUE(absl::IsNotFound(files_.list(path()).status()));
  // Of a process that died.
  const S3Path large = *parse_s3_path(path("run/large"));
  const auto id = files_.client().begin_upload(large);
  ASSERT_TRUE(id.ok()) << id.status();
  ASSERT_TRUE(files_.client().upload_part(large, *id, 1, std::as_bytes(std::span("abc"))).ok());
  ASSERT_TRUE(files_.discard_unfinished(path("other")).ok());
  EXPECT_EQ(files_.client().list_uploads({"bucket", ""})->size(), 1u) << "not below that";
  ASSERT_TRUE(files_.discard_unfinished(path("run")).ok());
  EXPECT_THAT(*files_.client().list_uploads({"bucket", ""}), IsEmpty());
}

TEST_F(S3Test, FoldersAreTheNamesThatStartSo) {
  for (const char* name : {"f/a", "f/b/c", "f/b/d", "f-g", "f.h/i"}) {
    ASSERT_TRUE(write(path(name), name).ok());
  }
  const auto entries = files_.list(path("f"));
  ASSERT_TRUE(entries.ok()) << entries.status();
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ((*entries)[0].name, "a");
  EXPECT_EQ((*entries)[0].size_bytes, 3);
  EXPECT_EQ((*entries)[1].name, "b");
  EXPECT_TRUE((*entries)[1].is_directory);
  EXPECT_TRUE(files_.stat(path("f"))->is_directory);
  EXPECT_FALSE(files_.stat(path("f/a"))->is_directory);
  EXPECT_TRUE(absl::IsNotFound(files_.stat(path("g")).status()));
  ASSERT_TRUE(files_.rename(path("f/a"), path("f/z")).ok());
  EXPECT_FALSE(files_.exists(path("f/a")));
  EXPECT_EQ(*files_.read_file(path("f/z")), "f/a");
  ASSERT_TRUE(files_.remove_tree(path("f")).ok());
  EXPECT_FALSE(files_.exists(path("f")));
  EXPECT_TRUE(files_.exists(path("f-g")) && files_.exists(path("f.h/i")));
  ASSERT_TRUE(files_.remove_tree(path("f")).ok()) << "again";
  EXPECT_TRUE(absl::IsUnimplemented(files_.append_file(path("x")).status()));
}

TEST_F(S3Test, AListingIsReadPageByPage) {
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(write(path(str_cat("f/", i)), "x").ok());
  const S3Path prefix = *parse_s3_path(path());
  const auto page = files_.client().list_all({.prefix = {"bucket", prefix.key + "/f/"}, .most = 3});
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->objects.size(), 7u);
}

TEST_F(S3Test, OfSeveralThatCreateOneFileOneDoes) {
  ASSERT_TRUE(files_.create_once(path("manifest"), "mine").ok());
  const Status second = files_.create_once(path("manifest"), "yours");
  EXPECT_TRUE(absl::IsAlreadyExists(second)) << second;
  EXPECT_EQ(*files_.read_file(path("manifest")), "mine");
}

TEST_F(S3Test, ErrorsNameTheObjectAndTheRemedyAndNoSecret) {
  const Status no_bucket = files_.check("s3://nobucket/run", true);
  EXPECT_THAT(message_of(no_bucket), AllOf(HasSubstr("s3://nobucket/"), HasSubstr("NoSuchBucket"),
                                           HasSubstr("make the bucket")));
  EXPECT_TRUE(absl::IsFailedPrecondition(no_bucket));
  EXPECT_TRUE(absl::IsFailedPrecondition(files_.list("s3://nobucket/run").status()))
      << "not the same as an empty folder";
  EXPECT_TRUE(files_.check(path(), true).ok());
  EXPECT_THAT(*files_.client().list_uploads({"bucket", ""}), IsEmpty());

  S3FileSystem::Options wrong = options();
  const std::string secret = wrong.client.account.secret_access_key;
  wrong.client.account.secret_access_key = "not" + secret;
  const Status unsigned_ = S3FileSystem(wrong, clock_).check(path(), true);
  EXPECT_TRUE(absl::IsPermissionDenied(unsigned_)) << unsigned_;
  EXPECT_THAT(message_of(unsigned_),
              AllOf(HasSubstr("SignatureDoesNotMatch"), HasSubstr("AWS_SECRET_ACCESS_KEY"),
                    Not(HasSubstr(secret))));
  wrong = options();
  wrong.client.account.access_key_id = "AKIANOBODY";
  const Status unknown = S3FileSystem(wrong, clock_).check(path(), true);
  EXPECT_TRUE(absl::IsPermissionDenied(unknown)) << unknown;
  EXPECT_THAT(message_of(unknown), HasSubstr("AWS_ACCESS_KEY_ID"));

  wrong = options();
  wrong.client.account.endpoint = "http://127.0.0.1:1";
  const Status nobody = S3FileSystem(wrong, clock_).check(path(), true);
  EXPECT_TRUE(absl::IsUnavailable(nobody)) << nobody;
  EXPECT_THAT(message_of(nobody), AllOf(HasSubstr("at http://127.0.0.1:1"), HasSubstr("3 tries")));
}

TEST_F(S3Test, APathChoosesBetweenDiskAndStore) {
  const S3Account account = moto_->account();
  AnyFileSystem files([&](const std::string& name) -> std::optional<std::string> {
    if (name == "AWS_ACCESS_KEY_ID") return account.access_key_id;
    if (name == "AWS_SECRET_ACCESS_KEY") return account.secret_access_key;
    if (name == "AWS_ENDPOINT_URL") return account.endpoint;
    return std::nullopt;
  });
  ASSERT_TRUE(files.write_file_atomic(path("a"), "there").ok());
  EXPECT_EQ(*files.read_file(path("a")), "there");
  EXPECT_EQ(*files_.read_file(path("a")), "there");
  EXPECT_FALSE(files.renames_folders(path()));
  EXPECT_TRUE(files.renames_folders("/tmp"));
  EXPECT_TRUE(files.stat("/tmp")->is_directory);
  EXPECT_TRUE(absl::IsUnimplemented(files.rename("/tmp/a", path("b"))));
}

}  // namespace
}  // namespace tessera::storage_testing
