#include "tessera/data/corpus.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>

#include "tessera/base/clock.h"
#include "tessera/base/log.h"
#include "tessera/data/test_support.h"

namespace tessera {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string message(const Status& status) { return std::string(status.message()); }

class CorpusTest : public testing::Test {
 protected:
  Result<std::vector<std::string>> texts(const std::vector<std::string>& paths) {
    ASSIGN_OR_RETURN(std::vector<CorpusFile> corpus, find_corpus(files_, {.paths = paths}));
    int64_t total = 0;
    for (const CorpusFile& file : corpus) total += file.size_bytes;
    CorpusReader reader(files_, corpus);
    std::vector<std::string> texts;
    RawDocument raw;
    while (true) {
      ASSIGN_OR_RETURN(const bool found, reader.next(&raw));
      if (!found) break;
      ASSIGN_OR_RETURN(Document document, decode_document(raw, {}));
      texts.push_back(document.text);
    }
    EXPECT_EQ(reader.bytes_done(), total);
    return texts;
  }

  std::string error(const std::vector<std::string>& paths) {
    return message(texts(paths).status());
  }

  TempFolder temp_;
  PosixFileSystem files_;
};

TEST_F(CorpusTest, AFolderMeansItsTextAndJsonlFilesSortedByPath) {
  temp_.write("b.md", "B");
  temp_.write("a/x.rst.txt", "A");
  temp_.write("c.jsonl", "{\"text\": \"C1\"}\n{\"id\": 2, \"text\": \"C2\"}");
  temp_.write("ignored.png", "\x89PNG");
  EXPECT_THAT(texts({temp_.path()}).value(), ElementsAre("A", "B", "C1", "C2"));
}

TEST_F(CorpusTest, AFileNamedTwiceIsReadOnceAndTheOrderOfPathsDoesNotMatter) {
  const std::string a = temp_.write("a.txt", "A");
  const std::string b = temp_.write("b.log", "B");
  EXPECT_THAT(texts({b, temp_ / "*.log", a}).value(), ElementsAre("A", "B"));
}

TEST_F(CorpusTest, AFileHasOneNameHoweverItsPathIsWritten) {
  const std::string a = temp_.write("f/a.txt", "A"), b = temp_.write("f/b.txt", "B");
  EXPECT_THAT(
      texts({temp_ / "f/./b.txt", a, temp_ / "f//a.txt", temp_ / "./f/", temp_ / "f/./*"}).value(),
      ElementsAre("A", "B"));
  std::filesystem::current_path(temp_ / "f");
  EXPECT_THAT(texts({"./b.txt", "a.txt", ".", "./*.txt"}).value(), ElementsAre("A", "B"));
  EXPECT_THAT(error({""}), HasSubstr("an empty path"));
}

TEST_F(CorpusTest, ALinkToAFolderIsNotFollowedAndSaysSo) {
  temp_.write("more/b.txt", "B");
  temp_.write("f/a.txt", "A");
  for (const char* name : {"f/more", "f/more.txt"})
    std::filesystem::create_directory_symlink(temp_ / "more", temp_ / name);
  std::filesystem::create_symlink(temp_ / "more/b.txt", temp_ / "f/c.txt");
  std::string log;
  RealClock clock;
  LogSink sink([&](std::string_view text) { log += text; }, clock);
  const ScopedLogSink scoped(sink);
  EXPECT_THAT(texts({temp_ / "f"}).value(), ElementsAre("A", "B"));
  EXPECT_THAT(log, AllOf(HasSubstr((temp_ / "f/more") + " is a link to a folder"),
                         HasSubstr((temp_ / "f/more.txt") + " is a link to a folder")));
}

TEST_F(CorpusTest, APipeIsNamedAndNotWaitedFor) {
  temp_.write("f/a.txt", "A");
  ASSERT_EQ(mkfifo((temp_ / "f/pipe.txt").c_str(), 0600), 0);
  EXPECT_THAT(error({temp_ / "f"}), AllOf(HasSubstr("f/pipe.txt"), HasSubstr("a pipe")));
}

TEST_F(CorpusTest, ANumberThatNoDoubleHoldsIsABadDocument) {
  const std::string path = temp_.write("a.jsonl", "{\"text\": \"t\", \"n\": 1e999}\n");
  EXPECT_THAT(error({path}), AllOf(HasSubstr(path + ":1"), HasSubstr("number")));
  RawDocument raw = {.source = "s", .bytes = "[1e999]", .kind = RawKind::kColumn};
  std::string reason;
  EXPECT_FALSE(decode_document(raw, {.chat = ChatTemplate()}, &reason).ok());
  EXPECT_EQ(reason, "not valid JSON") << "so that skip_bad counts it";
}

TEST_F(CorpusTest, JsonLinesMayBeBlankLongAndEndWithoutNewline) {
  const std::string long_text(3 << 20, 'x');
  temp_.write("a.jsonl",
              "\n{\"text\":\"one\"}\r\n  \n{\"text\":\"" + long_text + "\"}\n\n{\"text\":\"\"}");
  EXPECT_THAT(texts({temp_.path()}).value(), ElementsAre("one", long_text, ""));
  temp_.write("a.jsonl", "\n\n");
  EXPECT_THAT(texts({temp_.path()}).value(), IsEmpty());
  temp_.write("a.jsonl", "");
  EXPECT_THAT(texts({temp_.path()}).value(), IsEmpty());
}

TEST_F(CorpusTest, MissingPathsAreNamed) {
  EXPECT_THAT(error({}), HasSubstr("no file, folder or pattern"));
  EXPECT_THAT(error({temp_ / "gone.txt"}), HasSubstr(temp_ / "gone.txt"));
  EXPECT_THAT(error({temp_ / "*.txt"}), HasSubstr("no file matches " + (temp_ / "*.txt")));
  temp_.write("code.py", "x");
  EXPECT_THAT(error({temp_.path()}), AllOf(HasSubstr(temp_.path()), HasSubstr("pattern, such as")));
  EXPECT_THAT(error({temp_.write("a.jsonl.bz2", "x")}), HasSubstr("a.jsonl.bz2 is of a kind"));
}

TEST_F(CorpusTest, ABadJsonLineNamesFileAndLine) {
  const std::string path = temp_.write("a.jsonl", "{\"text\": \"fine\"}\n\n{\"text\": \"cut\n");
  EXPECT_THAT(error({path}), HasSubstr(path + ":3: not valid JSON"));
  temp_.write("a.jsonl", "[1]\n");
  EXPECT_THAT(error({path}), HasSubstr(path + ":1: the line is not a JSON object"));
  temp_.write("a.jsonl", "{\"body\": \"x\"}\n");
  EXPECT_THAT(error({path}), HasSubstr(path + ":1: no key \"text\""));
  temp_.write("a.jsonl", "{\"text\": 7}\n");
  EXPECT_THAT(error({path}), HasSubstr(path + ":1: \"text\" holds number"));
}

TEST_F(CorpusTest, InvalidUtf8IsReplacedAndCountedInTextAndJson) {
  const Document text = decode_document({.bytes = "a\xFF\xFE"}, {}).value();
  EXPECT_EQ(text.text, "a\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(text.invalid_utf8, 2);
  const Document json =
      decode_document({.bytes = "{\"text\":\"b\xFF\"}", .kind = RawKind::kJsonLine}, {}).value();
  EXPECT_EQ(json.text, "b\xEF\xBF\xBD");
  EXPECT_EQ(json.invalid_utf8, 1);
}

}  // namespace
}  // namespace tessera
