#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "tessera/base/faulty_filesystem.h"
#include "tessera/base/folder_lock.h"
#include "tessera/data/build.h"
#include "tessera/data/test_support.h"
#include "tessera/data/unfinished_store.h"

namespace tessera {
namespace {

using testing::ElementsAre;

class ResumeBuildTest : public testing::Test {
 protected:
  ResumeBuildTest() { options_.corpus.paths = {temp_ / "corpus"}; }

  void write_corpus(int files, int lines) {
    for (int file = 0; file < files; ++file) {
      std::string text;
      for (int i = 0; i < lines; ++i) {
        str_append(&text, "{\"text\": \"", varied_line(file * 100'000 + i), "\"}\n");
        if (i % 100 == 7) text += "no JSON\n{\"text\": \"\"}\n";
      }
      temp_.write(str_cat("corpus/", file, ".jsonl"), text);
    }
    options_.corpus.skip_bad = true;
  }

  // Every file of a store, its name and bytes.
  static std::string all_bytes(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      names.push_back(entry.path().filename());
    }
    std::sort(names.begin(), names.end());
    std::string all;
    for (const std::string& name : names) all += name + file_text(folder + "/" + name);
    return all;
  }

  std::string undisturbed() {
    BuildOptions options = options_;
    options.output = temp_ / "undisturbed";
    EXPECT_TRUE(build_token_store(files_, options, nullptr).ok());
    return all_bytes(options.output);
  }

  std::vector<std::string> stores() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(temp_.path())) {
      const std::string name = entry.path().filename();
      if (name.starts_with("store")) names.push_back(name);
    }
    return names;
  }

  TempFolder temp_;
  PosixFileSystem files_;
  BuildOptions options_ = {
      .output = temp_ / "store", .tokenizer = {.vocab_size = 400}, .threads = 2, .save_seconds = 0};
};

// A loss of power at any operation: what is saved by then is gone on with.
TEST_F(ResumeBuildTest, ACrashAtAnyOperationLosesNothingButTime) {
  write_corpus(3, 1500);
  const std::string expected = undisturbed();
  FaultyFileSystem counting(files_);
  ASSERT_TRUE(build_token_store(counting, options_, nullptr).ok());
  EXPECT_EQ(all_bytes(options_.output), expected);
  const int64_t operations = counting.operations();
  int resumed = 0;
  for (int64_t crash = 1; crash <= operations; crash += std::max<int64_t>(1, operations / 20)) {
    ASSERT_TRUE(files_.remove_tree(options_.output).ok());
    FaultyFileSystem crashing(files_);
    crashing.crash_at(crash);
    const Status broken = build_token_store(crashing, options_, nullptr).status();
    ASSERT_TRUE(crashing.lose_unsynced().ok()) << "crash at " << crash;
    if (broken.ok() || files_.exists(options_.output)) continue;
    const auto summary = build_token_store(files_, options_, nullptr);
    ASSERT_TRUE(summary.ok()) << "crash at " << crash << ": " << summary.status();
    if (summary->resumed_bytes > 0) ++resumed;
    EXPECT_EQ(all_bytes(options_.output), expected) << "crash at " << crash;
    EXPECT_THAT(stores(), ElementsAre("store")) << "crash at " << crash;
  }
  EXPECT_GT(resumed, 5) << "of " << operations << " operations";
}

TEST_F(ResumeBuildTest, AKilledProcessIsGoneOnWithByTheNextOne) {
  write_corpus(6, 4000);
  options_.tokenizer.kind = "bytes";
  options_.corpus.chat.reset();
  const std::string expected = undisturbed();
  int killed = 0;
  for (int round = 0; round < 200; ++round) {
    const pid_t child = fork();
    if (child == 0) _exit(build_token_store(files_, options_, nullptr).ok() ? 0 : 1);
    usleep(2000 + 1500 * round);
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status)) {
      EXPECT_EQ(WEXITSTATUS(status), 0);
      break;
    }
    ++killed;
  }
  EXPECT_GT(killed, 1);
  if (!files_.exists(options_.output)) {  // killed each time
    ASSERT_TRUE(build_token_store(files_, options_, nullptr).ok());
  }
  EXPECT_EQ(all_bytes(options_.output), expected);
  EXPECT_THAT(stores(), ElementsAre("store"));
}

TEST_F(ResumeBuildTest, OtherInputsOrOptionsBeginAnew) {
  write_corpus(2, 3000);
  options_.tokenizer.kind = "bytes";
  // Leaves an unfinished build behind, as a crash does.
  const auto leave = [&] {
    files_.remove_tree(options_.output).IgnoreError();
    FaultyFileSystem counting(files_);
    EXPECT_TRUE(build_token_store(counting, options_, nullptr).ok());
    EXPECT_TRUE(files_.remove_tree(options_.output).ok());
    FaultyFileSystem crashing(files_);
    crashing.crash_at(counting.operations() / 2);
    EXPECT_FALSE(build_token_store(crashing, options_, nullptr).ok());
  };
  const auto resumed = [&] {
    const int64_t bytes = build_token_store(files_, options_, nullptr).value().resumed_bytes;
    EXPECT_THAT(stores(), ElementsAre("store"));
    return bytes;
  };
  leave();
  EXPECT_GT(resumed(), 0);
  leave();
  temp_.write("corpus/0.jsonl", "{\"text\": \"other\"}\n");
  EXPECT_EQ(resumed(), 0);
  leave();
  options_.corpus.max_document_bytes = 1000;
  EXPECT_EQ(resumed(), 0);
  leave();
  options_.threads = 1;
  EXPECT_GT(resumed(), 0) << "the number of threads is nothing to the store";
  leave();
  options_.save_seconds = -1;
  EXPECT_EQ(resumed(), 0);
}

// In a container the first process may not ask for how others ended: then the killed one's number
// stays. And a number may be given anew.
TEST_F(ResumeBuildTest, WhoseLockIsGivenUpIsDeadWhateverHasItsNumber) {
  write_corpus(6, 4000);
  options_.tokenizer.kind = "bytes";
  const pid_t child = fork();
  if (child == 0) {
    const auto end = [](const BuildProgress& progress) {
      if (progress.tokens > 0) kill(getpid(), SIGKILL);
    };
    _exit(build_token_store(files_, options_, end).ok() ? 0 : 1);
  }
  siginfo_t info = {};
  ASSERT_EQ(waitid(P_PID, child, &info, WEXITED | WNOWAIT), 0);  // it stays, ended
  const std::string left = partial_folder(options_.output, child);
  ASSERT_TRUE(files_.exists(left));
  ASSERT_TRUE(files_.rename(left, partial_folder(options_.output, 1)).ok());
  ASSERT_TRUE(build_token_store(files_, options_, nullptr).ok());
  EXPECT_THAT(stores(), ElementsAre("store"));
  waitpid(child, nullptr, 0);
}

TEST_F(ResumeBuildTest, WhatIsLockedIsLeftAloneThoughItsNumberIsOfNobody) {
  write_corpus(1, 10);
  options_.tokenizer.kind = "bytes";
  const std::string alive = partial_folder(options_.output, 999'999'999);
  ASSERT_TRUE(files_.create_dir(alive).ok());
  const auto lock = FolderLock::take(alive, kLockFile);
  ASSERT_TRUE(build_token_store(files_, options_, nullptr).ok());
  EXPECT_THAT(stores(), testing::UnorderedElementsAre("store", base_name(alive)));
  // Of two containers, each with a process of this number.
  const std::string own = partial_folder(options_.output, getpid());
  ASSERT_TRUE(files_.create_dir(own).ok());
  const auto other = FolderLock::take(own, kLockFile);
  options_.store.overwrite = true;
  const Status status = build_token_store(files_, options_, nullptr).status();
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("writes this store already"));
  EXPECT_TRUE(files_.exists(own));
}

TEST_F(ResumeBuildTest, AStoreThatWasPutAwayAndNotReplacedComesBack) {
  write_corpus(1, 10);
  options_.tokenizer.kind = "bytes";
  ASSERT_TRUE(build_token_store(files_, options_, nullptr).ok());
  const std::string away = replaced_folder(options_.output, getpid());
  ASSERT_TRUE(files_.rename(options_.output, away).ok());
  EXPECT_EQ(build_token_store(files_, options_, nullptr).status().code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(TokenStore::open(options_.output).ok());
  ASSERT_TRUE(files_.create_dir(away).ok());  // and of one that was replaced nothing stays
  options_.store.overwrite = true;
  ASSERT_TRUE(build_token_store(files_, options_, nullptr).ok());
  EXPECT_THAT(stores(), ElementsAre("store"));
}

}  // namespace
}  // namespace tessera
