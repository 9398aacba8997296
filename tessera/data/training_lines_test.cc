#include "tessera/data/training_lines.h"

#include <gmock/gmock.h>

#include "tessera/data/test_support.h"
#include "tessera/data/utf8.h"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Lt;
using testing::SizeIs;

class TrainingLinesTest : public testing::Test {
 protected:
  std::vector<std::string> lines(int64_t sample_bytes) {
    const auto corpus = find_corpus(files_, {.paths = {temp_.path()}}).value();
    TrainingLines source(files_, corpus, {}, sample_bytes);
    std::vector<std::string> lines;
    while (const auto line = source.next()) lines.emplace_back(*line);
    status_ = source.status();
    return lines;
  }

  TempFolder temp_;
  PosixFileSystem files_;
  Status status_;
};

TEST_F(TrainingLinesTest, GivesTheLinesOfAllDocumentsWithoutEmptyOnes) {
  temp_.write("a.txt", "one\n\n  two\nthree");
  temp_.write("b.jsonl", "{\"text\": \"four\\nfive\\n\"}\n");
  EXPECT_THAT(lines(1 << 20), ElementsAre("one", "  two", "three", "four", "five"));
  EXPECT_TRUE(status_.ok());
}

TEST_F(TrainingLinesTest, ASampleIsSpreadOverTheCorpusAndAlwaysTheSame) {
  std::string text;
  for (int i = 1000; i < 9000; ++i) str_append(&text, "line ", i, "\n");
  temp_.write("a.txt", text);
  const std::vector<std::string> sample = lines(text.size() / 10);
  EXPECT_NEAR(sample.size(), 800, 100);
  EXPECT_LT(sample.front(), "line 1200");
  EXPECT_GT(sample.back(), "line 8800");
  EXPECT_EQ(lines(text.size() / 10), sample);
}

TEST_F(TrainingLinesTest, LongLinesAreCutBetweenCharacters) {
  std::string text = "x";
  for (int i = 0; i < 40'000; ++i) text += "€";
  temp_.write("a.txt", text + "\nend");
  std::string joined;
  const std::vector<std::string> pieces = lines(1 << 30);
  for (std::string piece : pieces) {
    EXPECT_THAT(piece, SizeIs(Lt(65536u)));
    joined += piece;
    EXPECT_EQ(replace_invalid_utf8(&piece), 0);
  }
  EXPECT_EQ(joined, text + "end");
}

TEST_F(TrainingLinesTest, StopsAtAnErrorAndKeepsIt) {
  temp_.write("a.jsonl", "{\"text\": \"fine\"}\nbad\n");
  EXPECT_THAT(lines(1 << 20), ElementsAre("fine"));
  EXPECT_THAT(std::string(status_.message()), HasSubstr("a.jsonl:2"));
}

}  // namespace
}  // namespace tessera
