#include "tessera/data/huggingface/huggingface.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tessera/data/build.h"
#include "tessera/data/huggingface/byte_alphabet.h"
#include "tessera/data/huggingface/tokenizer_file.h"
#include "tessera/data/test_support.h"

namespace tessera {
namespace {

using huggingface::FileJson;
using huggingface::text_of_bytes;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// A tokenizer.json of byte-level BPE: ids 0 to 255 are the bytes, then come the merges' results.
FileJson small_tokenizer(const std::vector<std::pair<std::string, std::string>>& merges = {}) {
  FileJson json = {
      {"version", "1.0"},
      {"truncation", nullptr},
      {"padding", nullptr},
      {"added_tokens", FileJson::array()},
      {"normalizer", nullptr},
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}},
      {"post_processor", nullptr},
      {"decoder", {{"type", "ByteLevel"}}},
      {"model", {{"type", "BPE"}, {"vocab", FileJson::object()}, {"merges", FileJson::array()}}}};
  FileJson& vocabulary = json["model"]["vocab"];
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary[text_of_bytes(std::string(1, static_cast<char>(byte)))] = byte;
  }
  for (const auto& [left, right] : merges) {
    vocabulary[left + right] = vocabulary.size();
    json["model"]["merges"].push_back({left, right});
  }
  return json;
}

FileJson added_token(int32_t id, const std::string& content, bool special) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", special}};
}

std::vector<int32_t> ids_of(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<int32_t> ids;
  EXPECT_TRUE(tokenizer.encode(text, &ids).ok());
  return ids;
}

std::shared_ptr<const Tokenizer> load(const FileJson& json) {
  return load_huggingface(json.dump()).value();
}

std::string error_of(const FileJson& json) {
  const auto tokenizer = load_huggingface(json.dump());
  EXPECT_FALSE(tokenizer.ok());
  return std::string(tokenizer.status().message());
}

TEST(HuggingFaceTest, MergesInTheirOrderAndGivesBackTheText) {
  // "a b" before "b c": of "abc" the first two become one.
  const auto tokenizer = load(small_tokenizer({{"a", "b"}, {"b", "c"}, {"ab", "c"}, {"Ġ", "ab"}}));
  EXPECT_EQ(tokenizer->vocab_size(), 260);
  EXPECT_THAT(ids_of(*tokenizer, "bc"), ElementsAre(257));
  EXPECT_THAT(ids_of(*tokenizer, "abc"), ElementsAre(258));
  EXPECT_THAT(ids_of(*tokenizer, "abb ab"), ElementsAre(256, 'b', 259));
  for (const std::string_view text : {"", " ", "a\r\n b\tc", "Grüße, 世界! e\xCC\x81", "12 ab's"}) {
    EXPECT_EQ(tokenizer->decode(ids_of(*tokenizer, text)).value(), text);
  }
  EXPECT_EQ(tokenizer->piece(259), "Ġab");
  EXPECT_EQ(tokenizer->piece(10), "Ċ");
}

TEST(HuggingFaceTest, BothFormsOfMergesAreRead) {
  FileJson json = small_tokenizer({{"a", "b"}});
  json["model"]["merges"] = {"a b"};
  EXPECT_THAT(ids_of(*load(json), "ab"), ElementsAre(256));
  json["model"]["merges"] = {"a b c"};
  EXPECT_THAT(error_of(json), AllOf(HasSubstr("model.merges[0]"), HasSubstr("a b c")));
  json["model"]["merges"] = FileJson::array({FileJson::array({"a", "z"})});
  EXPECT_THAT(error_of(json), AllOf(HasSubstr("model.merges[0]"), HasSubstr("az")));
}

TEST(HuggingFaceTest, WordsThatAreTokensNeedNoMergesWhereTheseAreIgnored) {
  FileJson json = small_tokenizer();
  json["model"]["vocab"]["hello"] = 256;
  EXPECT_EQ(ids_of(*load(json), "hello").size(), 5u);
  json["model"]["ignore_merges"] = true;
  EXPECT_THAT(ids_of(*load(json), "hello"), ElementsAre(256));
}

TEST(HuggingFaceTest, SpecialTokensAreFoundInTextAndStandForNone) {
  FileJson json = small_tokenizer();
  json["added_tokens"] = {added_token(256, "<|end|>", true), added_token(300, "<tool>", false)};
  const auto tokenizer = load(json);
  EXPECT_EQ(tokenizer->vocab_size(), 301);
  const std::vector<int32_t> ids = ids_of(*tokenizer, "a<|end|>b<tool><|end");
  EXPECT_THAT(ids, ElementsAre('a', 256, 'b', 300, '<', '|', 'e', 'n', 'd'));
  EXPECT_EQ(tokenizer->decode(ids).value(), "ab<tool><|end");
  EXPECT_EQ(tokenizer->piece(256), "<|end|>");
  EXPECT_EQ(tokenizer->piece(299), "<no token 299>");
  EXPECT_EQ(tokenizer->decode(std::vector<int32_t>{299}).value(), "");
}

TEST(HuggingFaceTest, AddedTokensTakeWhiteSpaceAlongAndMayWantToStandAlone) {
  FileJson json = small_tokenizer();
  json["added_tokens"] = {added_token(256, "<l>", false), added_token(257, "<r>", false),
                          added_token(258, "word", false)};
  json["added_tokens"][0]["lstrip"] = true;
  json["added_tokens"][1]["rstrip"] = true;
  json["added_tokens"][2]["single_word"] = true;
  const auto tokenizer = load(json);
  EXPECT_THAT(ids_of(*tokenizer, "a \u2003\n<l>b<r> \u3000c"),
              ElementsAre('a', 256, 'b', 257, 'c'));
  EXPECT_THAT(ids_of(*tokenizer, "<r>  <l>"), ElementsAre(257, 256));
  EXPECT_THAT(ids_of(*tokenizer, "word-word"), ElementsAre(258, '-', 258));
  EXPECT_EQ(ids_of(*tokenizer, "words").size(), 5u);
  EXPECT_EQ(ids_of(*tokenizer, "_word").size(), 5u);
}

TEST(HuggingFaceTest, TextIsNormalisedAndTokensLookedForAfterOrBefore) {
  FileJson json = small_tokenizer();
  json["normalizer"] = {{"type", "Sequence"}, {"normalizers", {{{"type", "NFC"}}}}};
  json["added_tokens"] = {added_token(256, "e\u0301", false), added_token(257, "o\u0301", false)};
  json["added_tokens"][0]["normalized"] = true;
  const auto tokenizer = load(json);
  EXPECT_THAT(ids_of(*tokenizer, "\u00e9e\u0301o\u0301"), ElementsAre(256, 256, 257));
  EXPECT_THAT(ids_of(*tokenizer, "a\u0301"), ElementsAre(0xC3, 0xA1));
}

TEST(HuggingFaceTest, BytesThatAreNoTextAreReplaced) {
  const auto tokenizer = load(small_tokenizer());
  EXPECT_EQ(ids_of(*tokenizer, "a\xFF"), ids_of(*tokenizer, "a\xEF\xBF\xBD"));
  // A token may end inside a character.
  EXPECT_EQ(tokenizer->decode(std::vector<int32_t>{'a', 0xE4, 0xB8}).value(), "a\xEF\xBF\xBD");
}

TEST(HuggingFaceTest, SpecialTokensComeFromTheTemplateTheConfigOrNames) {
  FileJson json = small_tokenizer();
  json["added_tokens"] = {added_token(256, "<s>", true), added_token(257, "</s>", true),
                          added_token(258, "<pad>", true)};
  EXPECT_EQ(load(json)->special_tokens(), SpecialTokens());
  const FileJson token = {{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}};
  const FileJson text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  json["post_processor"] = {{"type", "TemplateProcessing"},
                            {"single", {token, text}},
                            {"special_tokens", {{"<s>", {{"ids", {256}}}}}}};
  EXPECT_EQ(load(json)->special_tokens(), (SpecialTokens{.bos = 256}));
  const std::string config = R"({"eos_token": {"content": "</s>"}, "bos_token": null})";
  std::string named = name_special_tokens(json.dump(), config, {.pad = "<pad>"}).value();
  EXPECT_EQ(load_huggingface(named).value()->special_tokens(),
            (SpecialTokens{.bos = 256, .eos = 257, .pad = 258}));
  // Named again, as from a store: what is not named stays.
  named = name_special_tokens(named, "", {.eos = "<pad>"}).value();
  EXPECT_EQ(load_huggingface(named).value()->special_tokens(),
            (SpecialTokens{.bos = 256, .eos = 258, .pad = 258}));
  EXPECT_EQ(named.find("tessera_special_tokens"), named.rfind("tessera_special_tokens"));
  const auto unknown = name_special_tokens(json.dump(), "", {.eos = "<end>"});
  EXPECT_THAT(std::string(unknown.status().message()), AllOf(HasSubstr("eos"), HasSubstr("<end>")));
}

TEST(HuggingFaceTest, WhatIsNotSupportedIsNamed) {
  const auto with = [](const char* pointer, FileJson value) {
    FileJson json = small_tokenizer();
    json[FileJson::json_pointer(pointer)] = std::move(value);
    return error_of(json);
  };
  EXPECT_THAT(with("/model/type", "WordPiece"), HasSubstr("WordPiece"));
  EXPECT_THAT(with("/model/dropout", 0.1), HasSubstr("model.dropout 0.1"));
  EXPECT_THAT(with("/model/end_of_word_suffix", "</w>"), HasSubstr("end_of_word_suffix"));
  EXPECT_THAT(with("/version", "2.0"), HasSubstr("2.0"));
  EXPECT_THAT(with("/truncation", {{"max_length", 5}}), HasSubstr("truncation"));
  EXPECT_THAT(with("/normalizer", {{"type", "Lowercase"}}), HasSubstr("normalizer Lowercase"));
  EXPECT_THAT(with("/pre_tokenizer", {{"type", "Whitespace"}}), HasSubstr("without it"));
  EXPECT_THAT(with("/pre_tokenizer", nullptr), HasSubstr("pre_tokenizer is missing"));
  EXPECT_THAT(with("/decoder", {{"type", "WordPiece"}}), HasSubstr("decoder WordPiece"));
  EXPECT_THAT(with("/post_processor", {{"type", "Other"}}), HasSubstr("post_processor Other"));
  const FileJson byte_level = {{"type", "ByteLevel"}};
  EXPECT_THAT(with("/pre_tokenizer",
                   {{"type", "Sequence"}, {"pretokenizers", {byte_level, {{"type", "Digits"}}}}}),
              HasSubstr("Digits after it"));
  EXPECT_THAT(with("/pre_tokenizer", {{"type", "Sequence"},
                                      {"pretokenizers", {{{"type", "Punctuation"}}, byte_level}}}),
              AllOf(HasSubstr("step 1"), HasSubstr("Punctuation")));
}

TEST(HuggingFaceTest, WhatIsWrongIsNamed) {
  EXPECT_THAT(std::string(load_huggingface("{").status().message()), HasSubstr("not valid JSON"));
  EXPECT_THAT(std::string(load_huggingface("[]").status().message()),
              HasSubstr("not a JSON object"));
  FileJson json = small_tokenizer();
  json["model"]["vocab"].erase("Ġ");
  EXPECT_THAT(error_of(json), HasSubstr("no token Ġ for the byte 32"));
  json = small_tokenizer();
  json["added_tokens"] = {added_token(65, "<s>", true)};
  EXPECT_THAT(error_of(json), AllOf(HasSubstr("added_tokens[0]"), HasSubstr("65")));
  json["added_tokens"] = {added_token(300, "a", true)};
  EXPECT_THAT(error_of(json), HasSubstr("added_tokens[0]"));
  json["added_tokens"] = {added_token(300, "<s>", true), added_token(301, "<s>", true)};
  EXPECT_THAT(error_of(json), HasSubstr("there twice"));
  json = small_tokenizer();
  json["model"].erase("merges");
  EXPECT_THAT(error_of(json), HasSubstr("merges"));
}

TEST(HuggingFaceTest, AStoreKeepsTheTokenizer) {
  TempFolder temp;
  PosixFileSystem files;
  FileJson json = small_tokenizer({{"h", "i"}});
  json["added_tokens"] = {added_token(257, "<|end|>", true)};
  BuildOptions options = {.output = temp / "store", .threads = 2};
  options.corpus.paths = {temp.write("a.txt", "hi there")};
  options.tokenizer = {.kind = "huggingface",
                       .model_path = temp.write("tokenizer.json", json.dump())};
  temp.write("tokenizer_config.json", R"({"eos_token": "<|end|>"})");
  ASSERT_TRUE(build_token_store(files, options, nullptr).ok());
  const auto store = TokenStore::open(temp / "store").value();
  ASSERT_TRUE(store->verify().ok());
  const auto tokenizer = store->tokenizer().value();
  EXPECT_EQ(tokenizer->special_tokens(), (SpecialTokens{.eos = 257}));
  const std::vector<int32_t> tokens = store->document(0).value();
  EXPECT_EQ(tokens.front(), 256);
  EXPECT_EQ(tokens.back(), 257);
  EXPECT_EQ(tokenizer->decode(tokens).value(), "hi there");
  // The store's own file makes the next store's tokenizer, without the file beside it.
  options.tokenizer.model_path = temp / "store/tokenizer.json";
  options.output = temp / "again";
  ASSERT_TRUE(build_token_store(files, options, nullptr).ok());
  EXPECT_EQ(TokenStore::open(temp / "again").value()->fingerprint(), store->fingerprint());
}

TEST(HuggingFaceTest, OptionsThatDoNotFitAreErrors) {
  TempFolder temp;
  PosixFileSystem files;
  BuildOptions options = {.output = temp / "store"};
  options.corpus.paths = {temp.write("a.txt", "hi there")};
  const auto error = [&] {
    return std::string(build_token_store(files, options, nullptr).status().message());
  };
  options.tokenizer.kind = "huggingface";
  EXPECT_THAT(error(), HasSubstr("tokenizer.json"));
  options.tokenizer = {.model_path = temp.write("tokenizer.json", small_tokenizer().dump())};
  EXPECT_THAT(error(), AllOf(HasSubstr("tokenizer.json"), HasSubstr("\"huggingface\"")));
  options.tokenizer.special.eos = "<s>";
  EXPECT_THAT(error(), HasSubstr("eos_token"));
  options.tokenizer.kind = "huggingface";
  EXPECT_THAT(error(), AllOf(HasSubstr("<s>"), HasSubstr("not in the vocabulary")));
}

}  // namespace
}  // namespace tessera
