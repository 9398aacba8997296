#include "tessera/data/tokenizer.h"

#include <gmock/gmock.h>

#include "tessera/data/sentencepiece.h"
#include "tessera/data/test_support.h"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> training_lines() {
  std::vector<std::string> lines;
  for (int i = 0; i < 300; ++i) {
    lines.push_back(varied_line(i));
    lines.push_back("The quick brown fox jumps over the lazy dog");
  }
  return lines;
}

LineSource source_of(const std::vector<std::string>& lines) {
  return [&lines, i = size_t{0}]() mutable -> std::optional<std::string_view> {
    if (i == lines.size()) return std::nullopt;
    return lines[i++];
  };
}

std::shared_ptr<const Tokenizer> trained(int32_t vocab_size) {
  return load_sentencepiece(train_sentencepiece(vocab_size, source_of(training_lines())).value())
      .value();
}

std::string round_trip(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<int32_t> ids;
  EXPECT_TRUE(tokenizer.encode(text, &ids).ok());
  EXPECT_TRUE(check_token_ids(ids, tokenizer.vocab_size()).ok());
  return tokenizer.decode(ids).value();
}

constexpr std::string_view kTexts[] = {"",
                                       " ",
                                       "a",
                                       "  two  spaces  ",
                                       "\n\n\tindented\r\n    code\n",
                                       "The quick brown fox",
                                       "Grüße, 世界! \xF0\x9F\x98\x80 e\xCC\x81",
                                       "1234567890",
                                       "\xEF\xBF\xBD"};

TEST(ByteTokenizerTest, BytesAreTheirOwnIds) {
  const auto tokenizer = byte_tokenizer();
  EXPECT_EQ(tokenizer->vocab_size(), 259);
  EXPECT_EQ(tokenizer->special_tokens(), (SpecialTokens{.bos = 256, .eos = 257, .pad = 258}));
  std::vector<int32_t> ids = {7};
  ASSERT_TRUE(tokenizer->encode("A\xFF", &ids).ok());
  EXPECT_THAT(ids, ElementsAre(7, 65, 255)) << "encode appends";
  for (const std::string_view text : kTexts) EXPECT_EQ(round_trip(*tokenizer, text), text);
}

TEST(ByteTokenizerTest, SpecialTokensDecodeToNothing) {
  const std::vector<int32_t> ids = {256, 72, 105, 257, 258};
  EXPECT_EQ(byte_tokenizer()->decode(ids).value(), "Hi");
  EXPECT_EQ(byte_tokenizer()->piece(256), "<bos>");
  EXPECT_EQ(byte_tokenizer()->piece(72), "H");
  EXPECT_EQ(byte_tokenizer()->piece(10), "<0x0A>");
}

TEST(TokenizerTest, IdsOutsideTheVocabularyAreErrors) {
  for (const auto& tokenizer : {byte_tokenizer(), trained(400)}) {
    for (const int32_t id : {-1, tokenizer->vocab_size()}) {
      const auto text = tokenizer->decode(std::vector<int32_t>{65, id});
      EXPECT_EQ(text.status().code(), absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(std::string(text.status().message()), HasSubstr(str_cat("token 1 is ", id)));
    }
  }
}

TEST(TokenizerTest, IsMadeAgainFromKindAndModel) {
  for (const auto& tokenizer : {byte_tokenizer(), trained(400)}) {
    const auto again = make_tokenizer(tokenizer->kind(), std::string(tokenizer->model())).value();
    EXPECT_EQ(again->vocab_size(), tokenizer->vocab_size());
    std::vector<int32_t> expected, ids;
    ASSERT_TRUE(tokenizer->encode(kTexts[6], &expected).ok());
    ASSERT_TRUE(again->encode(kTexts[6], &ids).ok());
    EXPECT_EQ(ids, expected);
  }
  EXPECT_THAT(std::string(make_tokenizer("words", "").status().message()), HasSubstr("\"words\""));
}

TEST(SentencePieceTest, TrainsTheSizeAskedForAndGivesBackEveryText) {
  const auto tokenizer = trained(512);
  EXPECT_EQ(tokenizer->vocab_size(), 512);
  EXPECT_EQ(tokenizer->special_tokens(), (SpecialTokens{.bos = 1, .eos = 2, .pad = 3}));
  for (const std::string_view text : kTexts) EXPECT_EQ(round_trip(*tokenizer, text), text);
}

TEST(SentencePieceTest, FrequentTextBecomesFewTokensAndUnknownTextBytes) {
  const auto tokenizer = trained(512);
  std::vector<int32_t> known, unknown;
  ASSERT_TRUE(tokenizer->encode("The quick brown fox", &known).ok());
  ASSERT_TRUE(tokenizer->encode("世", &unknown).ok());
  EXPECT_LE(known.size(), 8u);
  EXPECT_EQ(unknown.size(), 3u);
}

TEST(SentencePieceTest, TrainingTwiceGivesTheSameBytes) {
  const auto lines = training_lines();
  EXPECT_EQ(train_sentencepiece(512, source_of(lines)).value(),
            train_sentencepiece(512, source_of(lines)).value());
}

TEST(SentencePieceTest, TooLittleTextForTheVocabularyIsAnErrorThatSaysSo) {
  const std::vector<std::string> none, few = {"hello hello", "hello world"};
  for (const auto& lines : {none, few}) {
    const auto model = train_sentencepiece(4000, source_of(lines));
    EXPECT_EQ(model.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(model.status().message()), HasSubstr("vocabulary of 4000"));
  }
}

TEST(SentencePieceTest, WhatIsNoModelIsAnError) {
  for (const std::string text : {"", "garbage", "\x0a\x05hello"}) {
    EXPECT_EQ(load_sentencepiece(text).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace tessera
