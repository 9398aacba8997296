#include "tessera/data/megatron.h"

#include <gmock/gmock.h>

#include "tessera/data/test_support.h"

namespace tessera {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

template <typename T>
void put(T value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// What Megatron-LM writes for tokens of type T.
template <typename T>
void write_dataset(TempFolder& temp, uint8_t code, const std::vector<std::vector<T>>& sequences,
                   const std::vector<int64_t>& documents) {
  std::string bin, lengths, pointers, index("MMIDIDX\0\0", 9);
  for (const std::vector<T>& sequence : sequences) {
    put(static_cast<int32_t>(sequence.size()), &lengths);
    put(static_cast<int64_t>(bin.size()), &pointers);
    for (const T token : sequence) put(token, &bin);
  }
  put(uint64_t{1}, &index);
  put(code, &index);
  put(uint64_t{sequences.size()}, &index);
  put(uint64_t{documents.size()}, &index);
  index += lengths + pointers;
  for (const int64_t document : documents) put(document, &index);
  temp.write("data.bin", bin);
  temp.write("data.idx", index);
}

class MegatronTest : public testing::Test {
 protected:
  Result<TokenStoreManifest> import() {
    return import_megatron(files_, {.prefix = temp_ / "data",
                                    .output = temp_ / "store",
                                    .tokenizer = byte_tokenizer(),
                                    .overwrite = true});
  }
  std::string error() { return std::string(import().status().message()); }

  TempFolder temp_;
  PosixFileSystem files_;
};

TEST_F(MegatronTest, TheBytesOfAnExportAreThoseOfTheFormat) {
  const auto store = make_store(temp_ / "store", {{1, 2, 256}, {3, 256}});
  ASSERT_TRUE(export_megatron(files_, *store, temp_ / "out/data", false).ok());
  write_dataset<uint16_t>(temp_, 8, {{1, 2, 256}, {3, 256}}, {0, 1, 2});
  EXPECT_EQ(file_text(temp_ / "out/data.bin"), file_text(temp_ / "data.bin"));
  EXPECT_EQ(file_text(temp_ / "out/data.idx"), file_text(temp_ / "data.idx"));
  EXPECT_EQ(export_megatron(files_, *store, temp_ / "out/data", false).code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(export_megatron(files_, *store, temp_ / "out/data", true).ok());
}

TEST_F(MegatronTest, AnExportComesBackAsTheSameStore) {
  BuildCounts counts;
  auto writer = TokenStoreWriter::create(files_, temp_ / "first", byte_tokenizer(), {}).value();
  ASSERT_TRUE(writer->add_document(std::vector<int32_t>{1, 2, 3}).ok());
  ASSERT_TRUE(writer->add_document(std::vector<int32_t>{4}).ok());
  ASSERT_TRUE(writer->finish({}).ok());
  const auto first = TokenStore::open(temp_ / "first").value();
  ASSERT_TRUE(export_megatron(files_, *first, temp_ / "data", false).ok());
  ASSERT_TRUE(import().ok());
  const auto second = TokenStore::open(temp_ / "store").value();
  EXPECT_EQ(second->fingerprint(), first->fingerprint());
  EXPECT_TRUE(second->manifest().adds_bos && second->manifest().adds_eos);
}

TEST_F(MegatronTest, SequencesOfADocumentAreJoinedInIntegersOfAnyWidth) {
  const auto check = [&] {
    const TokenStoreManifest manifest = import().value();
    EXPECT_EQ(manifest.counts.skipped.at("empty"), 1);
    const auto store = TokenStore::open(temp_ / "store").value();
    ASSERT_EQ(store->documents(), 2);
    EXPECT_THAT(store->document(0).value(), ElementsAre(1, 2, 3));
    EXPECT_THAT(store->document(1).value(), ElementsAre(4));
    EXPECT_FALSE(store->manifest().adds_bos || store->manifest().adds_eos);
  };
  write_dataset<uint8_t>(temp_, 1, {{1, 2}, {3}, {4}}, {0, 2, 2, 3});
  check();
  write_dataset<int16_t>(temp_, 3, {{1, 2}, {3}, {4}}, {0, 2, 2, 3});
  check();
  write_dataset<int32_t>(temp_, 4, {{1, 2}, {3}, {4}}, {0, 2, 2, 3});
  check();
  write_dataset<int64_t>(temp_, 5, {{1, 2}, {3}, {4}}, {0, 2, 2, 3});
  check();
}

TEST_F(MegatronTest, WhatIsWrongIsNamed) {
  write_dataset<int32_t>(temp_, 4, {{1, 2}, {300}}, {0, 1, 2});
  EXPECT_THAT(error(), AllOf(HasSubstr("data.bin: document 1"), HasSubstr("token 0 is 300")));
  write_dataset<int64_t>(temp_, 5, {{1, int64_t{1} << 32}}, {0, 1});
  EXPECT_THAT(error(), HasSubstr("document 0"));
  write_dataset<int32_t>(temp_, 4, {{1, -1}}, {0, 1});
  EXPECT_THAT(error(), HasSubstr("document 0"));
  write_dataset<int32_t>(temp_, 4, {{1, 2}}, {0, 1});
  temp_.write("data.bin", "1234567");
  EXPECT_THAT(error(), AllOf(HasSubstr("data.bin: sequence 0"), HasSubstr("7 bytes")));
  write_dataset<float>(temp_, 7, {{1, 2}}, {0, 1});
  EXPECT_THAT(error(), AllOf(HasSubstr("data.idx"), HasSubstr("type 7")));
  write_dataset<int32_t>(temp_, 4, {{1, 2}}, {0, 2});
  EXPECT_THAT(error(), HasSubstr("sequence 2"));
  write_dataset<int32_t>(temp_, 4, {{1, 2}, {3}}, {0, 1});
  EXPECT_THAT(error(), HasSubstr("not all sequences"));
  const std::string index = file_text(temp_ / "data.idx");
  temp_.write("data.idx", index.substr(0, index.size() - 1));
  EXPECT_THAT(error(), HasSubstr("too few"));
  temp_.write("data.idx", "MMIDIDY" + index.substr(7));
  EXPECT_THAT(error(), HasSubstr("begins otherwise"));
  EXPECT_FALSE(files_.exists(temp_ / "store"));
}

}  // namespace
}  // namespace tessera
