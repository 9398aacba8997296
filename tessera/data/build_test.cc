#include "tessera/data/build.h"

#include <gmock/gmock.h>

#include "tessera/base/usage_error.h"
#include "tessera/data/packed_examples.h"
#include "tessera/data/test_support.h"

namespace tessera {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class BuildTest : public testing::Test {
 protected:
  BuildTest() { options_.corpus.paths = {temp_ / "corpus"}; }

  // A corpus with enough different words for a small vocabulary.
  void write_corpus() {
    for (int file = 0; file < 12; ++file) {
      std::string text;
      for (int i = 0; i < 400; ++i) str_append(&text, varied_line(file * 1000 + i), "\n");
      temp_.write(str_cat("corpus/", file, ".txt"), text);
    }
    temp_.write("corpus/lines.jsonl",
                "{\"text\": \"one line\"}\n{\"text\": \"\"}\n{\"text\": \"\xFF\"}\n");
  }
  std::string error() {
    const Result<BuildSummary> summary = build_token_store(files_, options_, nullptr);
    EXPECT_FALSE(summary.ok());
    EXPECT_FALSE(files_.exists(temp_ / "store"));
    return std::string(summary.status().message());
  }

  TempFolder temp_;
  PosixFileSystem files_;
  BuildOptions options_ = {
      .output = temp_ / "store", .tokenizer = {.vocab_size = 400}, .threads = 2};
};

TEST_F(BuildTest, BuildsAStoreWhoseDocumentsDecodeToTheCorpus) {
  write_corpus();
  const BuildSummary summary = build_token_store(files_, options_, nullptr).value();
  EXPECT_EQ(summary.files, 13);
  EXPECT_EQ(summary.manifest.documents, 14);
  EXPECT_EQ(summary.manifest.counts.invalid_utf8, 1);
  EXPECT_EQ(summary.manifest.counts.skipped.at("empty"), 1);
  const auto store = TokenStore::open(options_.output).value();
  EXPECT_EQ(store->manifest(), summary.manifest);
  EXPECT_TRUE(store->verify().ok());
  const auto tokenizer = store->tokenizer().value();
  EXPECT_EQ(tokenizer->vocab_size(), 400);
  const std::vector<int32_t> first = store->document(0).value();
  EXPECT_EQ(first.front(), tokenizer->special_tokens().bos);
  EXPECT_EQ(first.back(), tokenizer->special_tokens().eos);
  EXPECT_EQ(tokenizer->decode(first).value(), file_text(temp_ / "corpus/0.txt"));
  EXPECT_EQ(tokenizer->decode(store->document(12).value()).value(), "one line");
  EXPECT_EQ(tokenizer->decode(store->document(13).value()).value(), "\xEF\xBF\xBD");
}

TEST_F(BuildTest, TheSameCorpusGivesTheSameBytesWhateverTheThreads) {
  write_corpus();
  std::vector<std::string> stores;
  for (const int threads : {1, 2, 5}) {
    options_.threads = threads;
    options_.output = temp_ / str_cat("store", threads);
    ASSERT_TRUE(build_token_store(files_, options_, nullptr).ok());
    std::string all;
    for (const std::string name :
         {"tokens.bin", "documents.bin", "tokenizer.model", "manifest.json"}) {
      all += file_text(options_.output + "/" + name);
    }
    stores.push_back(all);
  }
  EXPECT_EQ(stores[1], stores[0]);
  EXPECT_EQ(stores[2], stores[0]);
}

TEST_F(BuildTest, ATokenizerCanBeTakenFromAFile) {
  write_corpus();
  ASSERT_TRUE(build_token_store(files_, options_, nullptr).ok());
  options_.tokenizer.model_path = temp_ / "store/tokenizer.model";
  options_.output = temp_ / "second";
  ASSERT_TRUE(build_token_store(files_, options_, nullptr).ok());
  EXPECT_EQ(TokenStore::open(temp_ / "second").value()->fingerprint(),
            TokenStore::open(temp_ / "store").value()->fingerprint());
  options_.tokenizer.model_path = temp_.write("bad.model", "garbage");
  options_.output = temp_ / "third";
  EXPECT_THAT(std::string(build_token_store(files_, options_, nullptr).status().message()),
              AllOf(HasSubstr("bad.model"), HasSubstr("not a SentencePiece model")));
}

TEST_F(BuildTest, TrainingTakesASampleOfALargeCorpus) {
  write_corpus();
  options_.tokenizer.training_bytes = 100'000;
  ASSERT_TRUE(build_token_store(files_, options_, nullptr).ok());
  options_.tokenizer.training_bytes = 1 << 30;
  options_.output = temp_ / "all";
  ASSERT_TRUE(build_token_store(files_, options_, nullptr).ok());
  EXPECT_NE(file_text(temp_ / "store/tokenizer.model"), file_text(temp_ / "all/tokenizer.model"));
}

TEST_F(BuildTest, ReportsProgressUpToTheEnd) {
  write_corpus();
  std::vector<BuildProgress> reports;
  const auto keep = [&](const BuildProgress& progress) { reports.push_back(progress); };
  const BuildSummary summary = build_token_store(files_, options_, keep).value();
  ASSERT_FALSE(reports.empty());
  EXPECT_EQ(reports.back().phase, "encode");
  EXPECT_EQ(reports.back().bytes_done, summary.corpus_bytes);
  EXPECT_EQ(reports.back().bytes_total, summary.corpus_bytes);
  EXPECT_EQ(reports.back().documents, summary.manifest.documents);
  EXPECT_EQ(reports.back().tokens, summary.manifest.tokens);
}

TEST_F(BuildTest, BadInputLeavesNoStoreAndNamesTheCulprit) {
  EXPECT_THAT(error(), HasSubstr(temp_ / "corpus"));
  temp_.write("corpus/a.txt", "");
  EXPECT_THAT(error(), AllOf(HasSubstr("corpus is empty"), HasSubstr("a.txt")));
  temp_.write("corpus/a.txt", "too little");
  EXPECT_THAT(error(), HasSubstr("vocabulary of 400"));
  temp_.write("corpus/b.jsonl", "{\"text\": \"x\"}\n{\n");
  EXPECT_THAT(error(), HasSubstr("b.jsonl:2: not valid JSON"));
  options_.tokenizer.kind = "bytes";
  EXPECT_THAT(error(), HasSubstr("b.jsonl:2: not valid JSON"));
  options_.tokenizer.kind = "words";
  EXPECT_THAT(error(), HasSubstr("\"words\" is not known"));
  options_.tokenizer = {.vocab_size = 200};
  EXPECT_THAT(error(), HasSubstr("vocabulary size is 200"));
}

TEST_F(BuildTest, BadDocumentsAreLeftOutAndCountedByReasonWhenAskedFor) {
  temp_.write("corpus/a.jsonl",
              "{\"text\": \"good\"}\n{\n[1]\n{\"body\": 1}\n{\"text\": 7}\n{\"text\": \"\"}\n"
              "{\"text\": \"much too long\"}\nnot JSON\n{\"text\": \"fine\"}\n");
  options_.tokenizer.kind = "bytes";
  EXPECT_THAT(error(), HasSubstr("a.jsonl:2: not valid JSON"));
  options_.corpus.skip_bad = true;
  options_.corpus.max_document_bytes = 10;
  const BuildSummary summary = build_token_store(files_, options_, nullptr).value();
  EXPECT_EQ(summary.manifest.documents, 2);
  EXPECT_EQ(summary.manifest.counts.text_bytes, 8);
  const std::map<std::string, int64_t> expected = {
      {"not valid JSON", 2},  {"not a JSON object", 1},
      {"no key \"text\"", 1}, {"\"text\" is no string", 1},
      {"empty", 1},           {"longer than 10 bytes", 1}};
  EXPECT_EQ(summary.manifest.counts.skipped, expected);
  EXPECT_EQ(TokenStore::open(options_.output).value()->manifest().counts.skipped, expected);
  ASSERT_FALSE(summary.notes.empty());
  EXPECT_THAT(summary.notes[0], HasSubstr("a.jsonl:2: not valid JSON"));
}

TEST_F(BuildTest, ATokenizerIsTrainedOnWhatIsNotLeftOut) {
  write_corpus();
  temp_.write("corpus/bad.jsonl", "{\"text\": \"fine\"}\nnot JSON\n");
  options_.corpus.skip_bad = true;
  EXPECT_EQ(
      build_token_store(files_, options_, nullptr)->manifest.counts.skipped.at("not valid JSON"),
      1);
}

TEST_F(BuildTest, ACorpusOfEmptyDocumentsIsAnError) {
  temp_.write("corpus/a.jsonl", "{\"text\": \"\"}\n");
  options_.tokenizer.kind = "bytes";
  EXPECT_THAT(error(), HasSubstr("no text"));
}

TEST_F(BuildTest, AnExistingStoreIsFoundBeforeTheWork) {
  write_corpus();
  options_.tokenizer.kind = "bytes";
  ASSERT_TRUE(build_token_store(files_, options_, nullptr).ok());
  EXPECT_EQ(build_token_store(files_, options_, nullptr).status().code(),
            absl::StatusCode::kAlreadyExists);
  options_.store.overwrite = true;
  EXPECT_TRUE(build_token_store(files_, options_, nullptr).ok());
}

TEST_F(BuildTest, WhatStandsAgainstTheOutputIsFoundBeforeTheTokenizerIsTrained) {
  write_corpus();
  std::vector<std::string> phases;
  const auto error_of = [&] {
    const auto note = [&](const BuildProgress& progress) { phases.push_back(progress.phase); };
    return std::string(build_token_store(files_, options_, note).status().message());
  };
  options_.output = temp_ / "corpus";
  options_.store.overwrite = true;
  EXPECT_THAT(error_of(), HasSubstr("is no token store: choose another folder"));
  options_.output = "/proc/store";
  EXPECT_THAT(error_of(), HasSubstr("/proc/store"));
  options_.output = temp_.write("file", "") + "/store";
  EXPECT_THAT(error_of(), HasSubstr(temp_ / "file"));
  EXPECT_THAT(phases, IsEmpty());
}

TEST_F(BuildTest, AStoreThatAnotherProcessMadeMeanwhileIsNotReplacedUnasked) {
  write_corpus();
  options_.tokenizer.kind = "bytes";
  BuildOptions other = options_;
  other.corpus.paths = {temp_ / "corpus/a.txt"};
  bool is_made = false;
  const auto make_other = [&](const BuildProgress&) {
    if (std::exchange(is_made, true)) return;
    other.output = temp_ / "other";
    ASSERT_TRUE(build_token_store(files_, other, nullptr).ok());
    ASSERT_TRUE(files_.rename(other.output, options_.output).ok());
  };
  temp_.write("corpus/a.txt", "the other one's text");
  const Status status = build_token_store(files_, options_, make_other).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists) << status;
  EXPECT_EQ(TokenStore::open(options_.output).value()->documents(), 1);
  EXPECT_EQ(files_.list(temp_.path())->size(), 2u) << "nothing is left beside it and the corpus";
}

TEST_F(BuildTest, OptionsThatCannotBeAreWrongUsage) {
  write_corpus();
  const auto usage = [&] {
    const Status status = build_token_store(files_, options_, nullptr).status();
    EXPECT_TRUE(is_usage_error(status)) << status;
    return std::string(status.message());
  };
  options_.tokenizer = {.kind = "huggingface"};
  EXPECT_THAT(usage(), HasSubstr("tokenizer.json"));
  options_.tokenizer = {.kind = "bytes", .model_path = "some.model"};
  EXPECT_THAT(usage(), AllOf(HasSubstr("bytes"), HasSubstr("some.model")));
  options_.tokenizer = {.kind = "bytes"};
  options_.corpus.chat = {.system = "{content}", .user = "none", .assistant = "{content}"};
  EXPECT_THAT(usage(), AllOf(HasSubstr("chat_template"), HasSubstr("\"none\"")));
}

TEST_F(BuildTest, DescriptionsTellWhatIsInside) {
  write_corpus();
  ASSERT_TRUE(build_token_store(files_, options_, nullptr).ok());
  const auto store = TokenStore::open(options_.output).value();
  EXPECT_THAT(describe_store(*store),
              AllOf(HasSubstr("documents    14\n"), HasSubstr("sentencepiece, vocabulary 400"),
                    HasSubstr("1 invalid UTF-8"), HasSubstr("1 documents: empty")));
  EXPECT_THAT(
      describe_document(*store, 12, true).value(),
      AllOf(HasSubstr("document 12 of 14"), HasSubstr("one line\n"), HasSubstr("1\t<s>\n")));
  EXPECT_FALSE(describe_document(*store, 14, false).ok());
}

TEST_F(BuildTest, ACorpusOfWhichAllIsLeftOutIsRefusedWithTheReasons) {
  temp_.write("corpus/chat.jsonl",
              "{\"messages\": [{\"role\": \"user\", \"content\": \"alone\"}]}\n");
  options_.tokenizer.kind = "bytes";
  options_.corpus.chat = {
      .system = "S{content}", .user = "U{content}\n", .assistant = "A{content}\n"};
  EXPECT_THAT(
      std::string(from_absl(build_token_store(files_, options_, nullptr).status().message())),
      HasSubstr("1 documents left out (no assistant message)"));
}

TEST_F(BuildTest, ConversationsBringAMaskOfWhatIsLearned) {
  temp_.write("corpus/chat.jsonl",
              "{\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}, "
              "{\"role\": \"assistant\", \"content\": \"yes\"}]}\n"
              "{\"messages\": [{\"role\": \"user\", \"content\": \"alone\"}]}\n");
  options_.tokenizer.kind = "bytes";
  options_.corpus.chat = {
      .system = "S{content}", .user = "U{content}\n", .assistant = "A{content}\n"};
  const BuildSummary summary = build_token_store(files_, options_, nullptr).value();
  EXPECT_EQ(summary.manifest.documents, 1);
  EXPECT_EQ(summary.manifest.counts.skipped.at("no assistant message"), 1);
  const auto store = TokenStore::open(options_.output).value();
  EXPECT_TRUE(store->verify().ok());
  ASSERT_TRUE(store->has_loss_mask());
  EXPECT_EQ(store->tokenizer().value()->decode(store->document(0).value()).value(), "Uhi\nAyes\n");
  // bos U h i \n A | y e s \n eos
  EXPECT_THAT(store->loss_mask(), ElementsAre(0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1));
  const auto examples = PackedExamples::create(store, std::nullopt, 12, /*masked=*/true).value();
  Batch batch = {.rows = 1, .length = 12};
  resize_arrays(&batch);
  ASSERT_TRUE(examples->read(0, row_spans(&batch, 0)).ok());
  // The input before a learned token has it as its target.
  EXPECT_THAT(batch.mask, ElementsAre(0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0));
  EXPECT_NE(examples->fingerprint(),
            PackedExamples::create(store, std::nullopt, 12).value()->fingerprint());
}

TEST_F(BuildTest, AConversationThatIsWrongNamesItsLine) {
  options_.tokenizer.kind = "bytes";
  options_.corpus.chat = ChatTemplate();
  temp_.write("corpus/chat.jsonl", "\n{\"messages\": [{\"role\": \"bot\", \"content\": \"\"}]}\n");
  EXPECT_THAT(error(), AllOf(HasSubstr("chat.jsonl:2"), HasSubstr("message 1"), HasSubstr("bot")));
  temp_.write("corpus/chat.jsonl", "{\"text\": \"a\"}\n");
  EXPECT_THAT(error(), AllOf(HasSubstr("chat.jsonl:1"), HasSubstr("messages")));
}

TEST_F(BuildTest, AStoreOfPlainTextHasNoMaskToLearnBy) {
  temp_.write("corpus/a.txt", "plain text");
  options_.tokenizer.kind = "bytes";
  build_token_store(files_, options_, nullptr).value();
  const auto store = TokenStore::open(options_.output).value();
  const auto examples = PackedExamples::create(store, std::nullopt, 4, /*masked=*/true);
  EXPECT_THAT(std::string(from_absl(examples.status().message())), HasSubstr("messages"));
}

}  // namespace
}  // namespace tessera
