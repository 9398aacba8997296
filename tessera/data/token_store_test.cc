#include "tessera/data/token_store.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "tessera/base/faulty_filesystem.h"
#include "tessera/data/test_support.h"

namespace tessera {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string message(const Status& status) { return std::string(status.message()); }

// A byte tokenizer that claims more ids, to get 4-byte tokens.
class WideTokenizer final : public Tokenizer {
 public:
  int32_t vocab_size() const override { return 1 << 20; }
  SpecialTokens special_tokens() const override { return {}; }
  Status encode(std::string_view, std::vector<int32_t>*) const override { return {}; }
  Result<std::string> decode(std::span<const int32_t>) const override { return std::string(); }
  std::string piece(int32_t) const override { return "x"; }
  std::string kind() const override { return "wide"; }
  std::string_view model() const override { return "a model"; }
};

// The store in testdata/store_v1: "Hi", then "\xC3\xA9!" with bos and eos around each.
Status write_golden(FileSystem& files, const std::string& folder) {
  ASSIGN_OR_RETURN(const auto writer,
                   TokenStoreWriter::create(files, folder, byte_tokenizer(), {}));
  RETURN_IF_ERROR(writer->add_document(std::vector<int32_t>{'H', 'i'}));
  RETURN_IF_ERROR(writer->add_document(std::vector<int32_t>{0xC3, 0xA9, '!'}));
  return writer->finish({.text_bytes = 5, .invalid_utf8 = 1, .skipped = {{"empty", 2}}});
}

class TokenStoreTest : public testing::Test {
 protected:
  std::vector<std::string> names() {
    std::vector<std::string> names;
    const std::vector<FileInfo> entries = files_.list(temp_.path()).value();
    for (const FileInfo& entry : entries) names.push_back(entry.name);
    return names;
  }
  void overwrite(const std::string& name, std::string_view text) {
    ASSERT_TRUE(files_.write_file(folder_ + "/" + name, {std::as_bytes(std::span(text))}).ok());
  }

  TempFolder temp_;
  PosixFileSystem files_;
  const std::string folder_ = temp_ / "store";
};

TEST_F(TokenStoreTest, TheFormatIsThatOfTheGoldenFiles) {
  const std::string golden =
      std::string(std::getenv("TESSERA_SOURCE_DIR")) + "/tessera/data/testdata/store_v1/";
  ASSERT_TRUE(write_golden(files_, folder_).ok());
  for (const std::string name : {"tokens.bin", "documents.bin", "manifest.json"}) {
    EXPECT_EQ(file_text(folder_ + "/" + name), file_text(golden + name)) << name;
  }
  const auto store = TokenStore::open(golden).value();
  EXPECT_TRUE(store->verify().ok()) << store->verify();
  EXPECT_THAT(store->document(0).value(), ElementsAre(256, 'H', 'i', 257));
  EXPECT_THAT(store->document(1).value(), ElementsAre(256, 0xC3, 0xA9, '!', 257));
  EXPECT_EQ(store->manifest().counts.skipped.at("empty"), 2);
}

TEST_F(TokenStoreTest, GivesBackWhatWasWritten) {
  const std::vector<std::vector<int32_t>> documents = {{1, 2, 3}, {4}, {5, 258, 0}};
  const auto store = make_store(folder_, documents);
  EXPECT_EQ(store->tokens(), 7);
  EXPECT_THAT(store->document_starts(), ElementsAre(0, 3, 4, 7));
  for (size_t i = 0; i < documents.size(); ++i) EXPECT_EQ(store->document(i).value(), documents[i]);
  std::vector<int32_t> middle(4);
  store->read(2, middle);
  EXPECT_THAT(middle, ElementsAre(3, 4, 5, 258));
  EXPECT_TRUE(store->verify().ok());
  EXPECT_THAT(message(store->document(3).status()), HasSubstr("document 3 is not there"));
  EXPECT_EQ(store->document(-1).status().code(), absl::StatusCode::kOutOfRange);
}

TEST_F(TokenStoreTest, LargeVocabulariesTakeFourBytesAToken) {
  auto writer = TokenStoreWriter::create(files_, folder_, std::make_shared<WideTokenizer>(), {});
  ASSERT_TRUE((*writer)->add_document(std::vector<int32_t>{70000, 3}).ok());
  ASSERT_TRUE((*writer)->finish({}).ok());
  const auto store = TokenStore::open(folder_).value();
  EXPECT_EQ(store->manifest().token_bytes, 4);
  EXPECT_FALSE(store->manifest().adds_bos) << "there is no bos to add";
  EXPECT_THAT(store->document(0).value(), ElementsAre(70000, 3));
  EXPECT_EQ(file_text(folder_ + "/tokenizer.model"), "a model");
  EXPECT_THAT(message(store->tokenizer().status()), HasSubstr("\"wide\" is not known"));
}

TEST_F(TokenStoreTest, FilesCutShortOrTooLongAreNamedWithExpectedAndFoundBytes) {
  ASSERT_TRUE(write_golden(files_, folder_).ok());
  const auto error_after = [&](const std::string& name, std::string_view text) {
    const std::string before = file_text(folder_ + "/" + name);
    overwrite(name, text);
    const Status status = TokenStore::open(folder_).status();
    overwrite(name, before);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    return message(status);
  };
  EXPECT_THAT(error_after("tokens.bin", "12345"),
              AllOf(HasSubstr("store/tokens.bin"), HasSubstr("expected 18 bytes, found 5")));
  EXPECT_THAT(error_after("tokens.bin", ""), HasSubstr("expected 18 bytes, found 0"));
  EXPECT_THAT(error_after("documents.bin", std::string(32, '\0')),
              AllOf(HasSubstr("store/documents.bin"), HasSubstr("expected 24 bytes, found 32")));
  EXPECT_THAT(error_after("documents.bin", std::string(24, '\0')), HasSubstr("expected 0 to 9"));
}

TEST_F(TokenStoreTest, MissingFilesAreNamed) {
  EXPECT_THAT(message(TokenStore::open(folder_).status()),
              HasSubstr("no token store in " + folder_));
  ASSERT_TRUE(write_golden(files_, folder_).ok());
  ASSERT_TRUE(files_.remove(folder_ + "/tokens.bin").ok());
  EXPECT_THAT(message(TokenStore::open(folder_).status()), HasSubstr("store/tokens.bin"));
}

TEST_F(TokenStoreTest, ABadManifestIsAnErrorThatNamesIt) {
  ASSERT_TRUE(write_golden(files_, folder_).ok());
  const std::string good = file_text(folder_ + "/manifest.json");
  const auto error_with = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    overwrite("manifest.json", text);
    const Status status = TokenStore::open(folder_).status();
    EXPECT_THAT(message(status), HasSubstr("store/manifest.json"));
    return message(status);
  };
  EXPECT_THAT(error_with("tessera-token-store", "other"), HasSubstr("not a token store"));
  EXPECT_THAT(error_with("\"version\": 1", "\"version\": 2"), HasSubstr("version is 2"));
  EXPECT_THAT(error_with("\"tokens\"", "\"token\""), HasSubstr("tokens"));
  EXPECT_THAT(error_with("\"tokens\": 9", "\"tokens\": \"9\""), HasSubstr("number"));
  EXPECT_THAT(error_with("\"token_bytes\": 2", "\"token_bytes\": 3"),
              HasSubstr("token_bytes is 3"));
  EXPECT_THAT(error_with("\"tokens.bin\"", "\"t.bin\""), HasSubstr("no entry for tokens.bin"));
  EXPECT_THAT(error_with("{", "["), HasSubstr("not valid JSON"));
}

TEST_F(TokenStoreTest, VerifyFindsAFlippedBitInEveryFile) {
  const auto tokenizer = byte_tokenizer();
  ASSERT_TRUE(write_golden(files_, folder_).ok());
  for (const std::string name : {"tokens.bin", "documents.bin"}) {
    const std::string good = file_text(folder_ + "/" + name);
    std::string bad = good;
    bad[name == "tokens.bin" ? 2 : 8] ^= 1;
    overwrite(name, bad);
    const auto store = TokenStore::open(folder_);
    ASSERT_TRUE(store.ok()) << "sizes are right: opening is cheap and reads no token";
    EXPECT_EQ((*store)->verify().code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(message((*store)->verify()), AllOf(HasSubstr(name), HasSubstr("damaged")));
    overwrite(name, good);
  }
}

TEST_F(TokenStoreTest, TheFingerprintTellsStoresApart) {
  const std::string first = make_store(folder_, {{1, 2}, {3}})->fingerprint();
  EXPECT_EQ(make_store(folder_, {{1, 2}, {3}})->fingerprint(), first);
  EXPECT_NE(make_store(folder_, {{1, 2}, {4}})->fingerprint(), first);
  EXPECT_NE(make_store(folder_, {{1}, {2, 3}})->fingerprint(), first);
}

TEST_F(TokenStoreTest, AStoreIsReplacedOnlyWhenAskedFor) {
  ASSERT_TRUE(write_golden(files_, folder_).ok());
  EXPECT_EQ(write_golden(files_, folder_).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(make_store(folder_ + "/", {{1}})->tokens(), 1);
  EXPECT_THAT(names(), ElementsAre("store"));
  const auto writer =
      TokenStoreWriter::create(files_, temp_.path(), byte_tokenizer(), {.overwrite = true});
  EXPECT_THAT(message(writer.status()), HasSubstr("is no token store"));
}

TEST_F(TokenStoreTest, AnUnfinishedOrEmptyStoreLeavesNothing) {
  {
    auto writer = TokenStoreWriter::create(files_, folder_, byte_tokenizer(), {}).value();
    ASSERT_TRUE(writer->add_document(std::vector<int32_t>{1}).ok());
    EXPECT_FALSE(writer->add_document(std::vector<int32_t>{}).ok());
    EXPECT_THAT(message(writer->add_document(std::vector<int32_t>{259})), HasSubstr("259"));
  }
  EXPECT_THAT(names(), IsEmpty());
  EXPECT_FALSE(
      TokenStoreWriter::create(files_, folder_, byte_tokenizer(), {}).value()->finish({}).ok());
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(TokenStoreTest, WhatAKilledWriterLeftIsRemovedByTheNext) {
  temp_.write("store.partial-999999999/tokens.bin", "half");
  temp_.write("other.partial-999999999/tokens.bin", "half");
  temp_.write(str_cat("store.partial-", getppid(), "/tokens.bin"), "of a live process");
  ASSERT_TRUE(write_golden(files_, folder_).ok());
  EXPECT_THAT(names(), ElementsAre("other.partial-999999999", "store",
                                   str_cat("store.partial-", getppid())));
}

// Whichever operation a crash or a loss of power strikes, there is no store or a whole one.
TEST_F(TokenStoreTest, AStoreIsThereAsAWholeOrNotAtAll) {
  int64_t operations = 0;
  int whole = 0;
  for (int64_t crash = 0; crash <= operations; ++crash) {
    const TempFolder temp;
    FaultyFileSystem faulty(files_);
    const std::string folder = temp / "store";
    if (crash == 0) {
      ASSERT_TRUE(write_golden(faulty, temp / "count").ok());
      operations = faulty.operations();
    }
    FaultyFileSystem crashing(files_);
    crashing.crash_at(crash);
    const Status written = write_golden(crashing, folder);
    ASSERT_TRUE(crashing.lose_unsynced().ok()) << "crash at " << crash;
    const auto store = TokenStore::open(folder);
    if (!store.ok()) {
      ASSERT_FALSE(written.ok()) << "crash at " << crash;
      continue;
    }
    EXPECT_TRUE((*store)->verify().ok()) << "crash at " << crash;
    ++whole;
  }
  EXPECT_GT(operations, 8);
  EXPECT_GT(whole, 0);
}

TEST_F(TokenStoreTest, AFullDiskIsAnErrorAndLeavesNothing) {
  FaultyFileSystem faulty(files_);
  faulty.limit_bytes(20);
  const Status status = write_golden(faulty, folder_);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(TokenStoreTest, APipeInPlaceOfAFileIsNotWaitedFor) {
  make_store(folder_, {{1, 2}, {3}});
  for (const std::string_view name : {kTokensFile, kManifestFile}) {
    const std::string path = join_path(folder_, name);
    ASSERT_EQ(std::remove(path.c_str()), 0);
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    EXPECT_THAT(std::string(TokenStore::open(folder_).status().message()), HasSubstr(path));
  }
}

TEST_F(TokenStoreTest, OneThatIsCutShortWhileItIsReadIsNamed) {
  const auto store = make_store(folder_, {std::vector<int32_t>(10'000, 7)});
  const std::string path = join_path(folder_, kTokensFile);
  const auto read_all = [&] {
    ASSERT_EQ(truncate(path.c_str(), 0), 0);
    EXPECT_TRUE(store->document(0).ok());
  };
  EXPECT_EXIT(read_all(), testing::ExitedWithCode(1), "tokens.bin was cut short");
}

}  // namespace
}  // namespace tessera
