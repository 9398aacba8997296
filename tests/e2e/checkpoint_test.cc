// When a run saves, what it keeps, and that no moment of a kill loses what was committed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <regex>

#include "tessera/ckpt/manager.h"
#include "tests/e2e/program.h"

namespace tessera::e2e {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<int64_t> steps_in(const Workspace& workspace, const std::string& run = "run") {
  PosixFileSystem files;
  return *CheckpointManager(files, workspace.path(run + "/checkpoints")).list();
}

// Signals at the first report of a step from `step` on.
Workspace::LineWatcher stop_at(int step) {
  return [step](const std::string& line) -> std::optional<int> {
    const auto reported = reported_step(line);
    return reported && *reported == step ? std::optional<int>(SIGTERM) : std::nullopt;
  };
}

TEST(Checkpoints, AreSavedAtTheStartAndNotAtTheEndWhereAskedFor) {
  const Workspace workspace;
  ASSERT_EQ(workspace.train({"output_directory=whole"}).exit_code, 0);
  const std::vector<std::string> options = {"checkpoint.save_on_start=true",
                                            "checkpoint.save_on_end=false"};
  const Ended first = workspace.train(options);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(steps_in(workspace), ElementsAre(0));
  const Ended second = workspace.train(options);
  EXPECT_THAT(second.err, HasSubstr("at step 0"));
  EXPECT_EQ(workspace.losses("run"), workspace.losses("whole"));
}

// Tokens in the middle of the data that are none, so that the run ends at some step.
TEST(Checkpoints, AreSavedWhenTheRunEndsWithAnErrorOfItsData) {
  const Workspace workspace;
  // Without a validation nothing reads all tokens before.
  const auto train = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"data.shuffle=false", "training.eval_batches=0"});
    return workspace.train(more);
  };
  ASSERT_EQ(train({"output_directory=whole"}).exit_code, 0);
  const std::string whole = workspace.read("tokens/tokens.bin");
  std::string damaged = whole;
  const size_t at = 2 * 8 * 32 * 5;  // bytes of a token, rows, tokens: about the fifth step
  for (size_t i = at; i < at + 400; ++i) damaged.at(i) = '\xff';
  workspace.write("tokens/tokens.bin", damaged);
  const Ended not_saved = train({"checkpoint.save_on_error=false", "output_directory=other"});
  EXPECT_EQ(not_saved.exit_code, 1);
  EXPECT_THAT(steps_in(workspace, "other"), IsEmpty());

  const Ended ended = train({});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("tokens/tokens.bin: token 65535 is outside"),
                               HasSubstr("data stat --verify"),
                               HasSubstr("the run ends with an error; the state after step ")));
  ASSERT_EQ(steps_in(workspace).size(), 1u);
  EXPECT_GT(steps_in(workspace)[0], 0);
  workspace.write("tokens/tokens.bin", whole);
  const Ended again = train({});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("resumed from run/checkpoints/"));
  EXPECT_EQ(workspace.losses("run"), workspace.losses("whole"));
}

TEST(Checkpoints, AreNotSavedOnASignalWhereThatIsOff) {
  const Workspace workspace;
  const Ended ended = workspace.train(
      {"training.steps=100000", "checkpoint.save_on_stop=false", "checkpoint.interval=100000"},
      stop_at(5));
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("as asked"));
  EXPECT_THAT(ended.err, Not(HasSubstr("is completed and saved")));
  EXPECT_THAT(steps_in(workspace), IsEmpty());
}

TEST(Checkpoints, TheNewestMultiplesAndTheBestAreKept) {
  const Workspace workspace;
  const Ended ended = workspace.train({"training.steps=14", "checkpoint.interval=1",
                                       "checkpoint.keep=2", "checkpoint.keep_every_steps=5",
                                       "checkpoint.keep_best=1", "checkpoint.best_metric=loss"});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const auto losses = workspace.losses("run");
  const auto best = std::min_element(
      losses.begin(), losses.end(),
      [](const auto& a, const auto& b) { return std::stod(a.second) < std::stod(b.second); });
  std::vector<int64_t> expected = {5, 10, 13, 14, best->first};
  std::sort(expected.begin(), expected.end());
  expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
  EXPECT_EQ(steps_in(workspace), expected);
  const Ended wrong = workspace.train({"checkpoint.keep_best=1", "output_directory=other"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("checkpoint.keep is null"));
}

TEST(Checkpoints, EverySaveIsMeasured) {
  const Workspace workspace;
  const Ended ended = workspace.train({"checkpoint.interval=6"});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("training stalled "));
  for (const char* key : {"save_bytes", "save_ready_seconds", "save_stall_seconds",
                          "save_copy_seconds", "save_write_seconds", "save_commit_seconds"}) {
    const auto values = workspace.losses("run", key);
    ASSERT_EQ(values.size(), 2u) << key;
    EXPECT_TRUE(values.contains(6) && values.contains(12)) << key;
    EXPECT_GE(std::stod(values.at(6)), 0) << key;
  }
  const auto stall = workspace.losses("run", "save_stall_seconds");
  const auto copy = workspace.losses("run", "save_copy_seconds");
  EXPECT_GE(std::stod(stall.at(12)), std::stod(copy.at(12))) << "copying is a part of the stall";
}

TEST(Checkpoints, AManifestSaysWhatMadeItAndHowItWasLaidOut) {
  const Workspace workspace;
  ASSERT_EQ(workspace
                .train({"training.steps=2", "training.seed=11", "plugin.devices=4",
                        "ici_data_parallelism=2", "ici_fsdp_parallelism=2"})
                .exit_code,
            0);
  const Ended shown = workspace.run({"checkpoint", "show", "run", "--norms"});
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  for (const char* part :
       {"step 2 in ", "program: {\"tessera\":\"0.", "\"platform\":\"cpu\"",
        "mesh: {\"data\":2,\"fsdp\":2}", "rules: [[\"", "rng: {\"seed\":11,\"step\":2}", "data: {",
        "\"loss\":", "config: {", "params\n", "norm "})
    EXPECT_THAT(shown.out, HasSubstr(part));
}

TEST(Checkpoints, WithoutOptimizerStateMomentsBeginAnew) {
  const Workspace workspace;
  ASSERT_EQ(workspace.train({"training.steps=4", "schedule.steps=12"}).exit_code, 0);
  PosixFileSystem files;
  const CheckpointManager from(files, workspace.path("run/checkpoints"));
  const CheckpointManager to(files, workspace.path("weights/checkpoints"));
  ASSERT_TRUE(files.create_dirs(to.directory()).ok());
  const auto reader = *from.open(4);
  std::vector<ArraySpec> specs;
  for (const ArrayRecord& array : reader->manifest().arrays) {
    if (array.spec.name.starts_with("params.")) specs.push_back(array.spec);
  }
  const auto writer = *to.begin(4, specs);
  for (const ArraySpec& spec : specs) {
    const HostArray whole = *reader->read_array(spec.name);
    for (int64_t i = 0; i < spec.chunk_count(); ++i) {
      const Box box = spec.chunk_box(grid_index(i, spec.grid()));
      const HostArray part = slice(whole, box);
      ASSERT_TRUE(writer->write_shard(spec.name, box, part.bytes()).ok());
    }
  }
  ASSERT_TRUE(writer->commit({}).ok());
  const Ended ended = workspace.train({"output_directory=weights", "schedule.steps=12"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("has no optimizer state: moments begin at zero"));
  EXPECT_EQ(workspace.losses("weights").size(), 8u);
}

/// The newest step that lines of a run call saved.
int64_t newest_saved(const std::string& lines) {
  static const std::regex kSaved("saved checkpoint run/checkpoints/([0-9]+) ");
  int64_t newest = -1;
  for (std::sregex_iterator at(lines.begin(), lines.end(), kSaved), end; at != end; ++at)
    newest = std::max<int64_t>(newest, std::stoll((*at)[1]));
  return newest;
}

// SIGKILL at random moments of a run that saves and deletes all the time. TESSERA_KILLS says how
// many (200: about ten minutes).
TEST(Checkpoints, AKillAtAnyMomentLosesNothingThatWasCommitted) {
  const Workspace workspace;
  const char* asked = std::getenv("TESSERA_KILLS");
  const int kills = asked ? std::atoi(asked) : 6;
  const std::string options =
      " logging.tensorboard=false logging.interval=100000 schedule.steps=20000"
      " checkpoint.interval=1 checkpoint.keep=2 ";
  const auto begin = std::chrono::steady_clock::now();
  const Ended first = workspace.shell("\"$tessera\" train recipe.yaml training.steps=30" + options);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const double whole_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  PosixFileSystem files;
  const CheckpointManager manager(files, workspace.path("run/checkpoints"));
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> moment(0, whole_s * 1.2);
  int64_t committed = newest_saved(first.err);
  EXPECT_EQ(committed, 30);
  int struck = 0, while_writing = 0;
  for (int kill = 0; kill < kills; ++kill) {
    const std::string delay = std::to_string(0.01 + moment(random));
    const Ended ended =
        workspace.shell("timeout -s KILL " + delay +
                        " \"$tessera\" train recipe.yaml training.steps=20000" + options);
    struck += ended.exit_code == 137;
    ASSERT_THAT(ended.exit_code, ::testing::AnyOf(137, 0)) << ended.err;
    bool leftover = false;
    const std::vector<FileInfo> entries = *files.list(manager.directory());
    for (const FileInfo& entry : entries)
      leftover |= entry.name.ends_with(".tmp") || entry.name.ends_with(".deleted");
    while_writing += leftover;
    committed = std::max(committed, newest_saved(ended.err));
    const auto latest = manager.latest(CheckDepth::kContents);
    ASSERT_TRUE(latest.ok()) << latest.status();
    ASSERT_TRUE(latest->step) << "kill " << kill << " of seed " << seed;
    ASSERT_GE(*latest->step, committed) << "kill " << kill << " of seed " << seed;
    const std::vector<int64_t> steps = *manager.list();
    for (const int64_t step : steps)
      EXPECT_TRUE(manager.check(step, CheckDepth::kContents).ok()) << step;
    committed = *latest->step;
  }
  EXPECT_EQ(struck, kills);
  std::printf("%d kills, %d of them in the middle of a save or a removal; step %ld\n", struck,
              while_writing, static_cast<long>(committed));

  // And what came out of it is what an undisturbed run computes.
  const std::string steps = " training.steps=" + std::to_string(committed + 3);
  const Ended last = workspace.shell("\"$tessera\" train recipe.yaml" + steps + options);
  ASSERT_EQ(last.exit_code, 0) << last.err;
  const Ended undisturbed = workspace.shell("\"$tessera\" train recipe.yaml" + steps + options +
                                            "output_directory=whole checkpoint.enabled=false");
  ASSERT_EQ(undisturbed.exit_code, 0) << undisturbed.err;
  EXPECT_EQ(workspace.losses("run"), workspace.losses("whole"));
}

}  // namespace
}  // namespace tessera::e2e
