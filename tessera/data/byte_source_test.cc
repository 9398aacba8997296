#include "tessera/data/byte_source.h"

#include <gmock/gmock.h>
#include <zlib.h>
#include <zstd.h>

#include "tessera/data/corpus.h"
#include "tessera/data/test_support.h"

namespace tessera {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string gzip(const std::string& text) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = text.size();
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = packed.size();
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string zstd(const std::string& text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  return packed;
}

class ByteSourceTest : public testing::Test {
 protected:
  Result<std::string> read(const std::string& path, size_t at_once) {
    ASSIGN_OR_RETURN(const auto source, open_bytes(files_, path));
    std::string text, chunk(at_once, '\0');
    while (true) {
      ASSIGN_OR_RETURN(const size_t count, source->read(chunk));
      if (count == 0) break;
      text.append(chunk, 0, count);
    }
    EXPECT_EQ(source->file_bytes(), files_.file_size(path).value());
    return text;
  }

  // Long, and hard to pack, so that several buffers are filled.
  static std::string long_text() {
    std::string text;
    for (int i = 0; text.size() < 2'000'000; ++i) str_append(&text, mix64(i), " ");
    return text;
  }

  TempFolder temp_;
  PosixFileSystem files_;
};

TEST_F(ByteSourceTest, GivesTheBytesWhateverTheyArePackedWith) {
  const std::string text = long_text();
  for (const auto& [name, bytes] : {std::pair("a.txt", text), std::pair("a.txt.gz", gzip(text)),
                                    std::pair("a.txt.zst", zstd(text))}) {
    const std::string path = temp_.write(name, bytes);
    EXPECT_EQ(read(path, 1000).value(), text) << name;
    EXPECT_EQ(read(path, 3'000'000).value(), text) << name;
  }
}

TEST_F(ByteSourceTest, SeveralMembersOrFramesFollowOneAnother) {
  EXPECT_EQ(read(temp_.write("a.gz", gzip("one") + gzip("") + gzip("two")), 2).value(), "onetwo");
  EXPECT_EQ(read(temp_.write("a.zst", zstd("one") + zstd("") + zstd("two")), 2).value(), "onetwo");
  EXPECT_EQ(read(temp_.write("b.gz", gzip("")), 2).value(), "");
  EXPECT_EQ(read(temp_.write("b.zst", zstd("")), 2).value(), "");
}

TEST_F(ByteSourceTest, WhatIsDamagedOrCutShortIsNamed) {
  const std::string text = long_text();
  for (const auto& [name, packed] :
       {std::pair("a.gz", gzip(text)), std::pair("a.zst", zstd(text))}) {
    for (const size_t size : {packed.size() / 2, packed.size() - 1, size_t{5}}) {
      const auto cut = read(temp_.write(name, packed.substr(0, size)), 4096);
      EXPECT_EQ(cut.status().code(), absl::StatusCode::kDataLoss) << size;
      EXPECT_THAT(std::string(cut.status().message()), HasSubstr(name)) << size;
    }
    const auto empty = read(temp_.write(name, ""), 4096);  // a download that failed, say
    EXPECT_EQ(empty.status().code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(empty.status().message()), HasSubstr("is empty"));
    std::string garbage = packed;
    garbage[0] ^= 0x55;
    EXPECT_EQ(read(temp_.write(name, garbage), 4096).status().code(), absl::StatusCode::kDataLoss);
  }
}

// As `zstd --long=31` writes it where it does not know the size.
TEST_F(ByteSourceTest, AFrameMayHaveAWindowOfTwoGigabytes) {
  const std::string text = "a short text";
  std::string packed = std::string("\x28\xB5\x2F\xFD\x00\xA8", 6);  // 2^(10 + 0xA8 / 8)
  const size_t block = text.size() << 3 | 1;                        // raw, and the last one
  packed += {static_cast<char>(block), 0, 0};
  EXPECT_EQ(read(temp_.write("a.zst", packed + text), 100).value(), text);
}

TEST_F(ByteSourceTest, ACorpusHasPackedFilesAndAReaderGoesOnAnywhere) {
  std::string lines;
  for (int i = 0; i < 30'000; ++i) str_append(&lines, "{\"text\": \"", mix64(i), "\"}\n\n");
  temp_.write("a.txt.zst", zstd("first"));
  temp_.write("b.jsonl.gz", gzip(lines));
  temp_.write("c.jsonl.zst", zstd(lines));
  temp_.write("d.jsonl", lines);
  const auto corpus = find_corpus(files_, {.paths = {temp_.path()}}).value();
  ASSERT_EQ(corpus.size(), 4u);
  CorpusReader reader(files_, corpus);
  RawDocument document, again;
  int64_t documents = 0, previous = 0;
  while (true) {
    const CorpusPosition position = reader.position();
    EXPECT_GE(position.bytes_done, previous);
    previous = position.bytes_done;
    if (!reader.next(&document).value()) break;
    if (documents++ % 9973 != 0) continue;
    CorpusReader other(files_, corpus);
    ASSERT_TRUE(other.seek(position).ok());
    ASSERT_TRUE(other.next(&again).value());
    EXPECT_EQ(again.bytes, document.bytes);
    EXPECT_EQ(again.source, document.source);
  }
  EXPECT_EQ(documents, 90'001);
  int64_t total = 0;
  for (const CorpusFile& file : corpus) total += file.size_bytes;
  EXPECT_EQ(reader.bytes_done(), total);
}

}  // namespace
}  // namespace tessera
