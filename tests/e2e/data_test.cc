// What a run learns from, and that it learns each example once.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/e2e/examples.h"
#include "tests/e2e/several_processes.h"

namespace tessera::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Of the first of both, as many as the second has.
void expect_same_order(const Examples& whole, const Examples& part) {
  ASSERT_GT(part.size(), 0u);
  ASSERT_GE(whole.size(), part.size());
  int64_t next = 0;
  for (const auto& [position, example] : part) {
    ASSERT_EQ(position, next++) << "a position was left out";
    ASSERT_EQ(example, whole.at(position)) << "position " << position;
  }
}

Workspace::LineWatcher signal_at(int step, int signal) {
  return [=](const std::string& line) {
    return reported_step(line) == step ? std::optional<int>(signal) : std::nullopt;
  };
}

const Settings kCommon = {"logging.examples=true", "logging.tensorboard=false",
                          "checkpoint.interval=1", "logging.interval=1"};

// Interrupted, killed, and gone on with by other numbers of processes, with other batch sizes.
TEST(Data, EachExampleIsUsedOnceWhoeverGoesOn) {
  const Workspace workspace;
  const Settings whole =
      join(kCommon, {"output_directory=whole", "training.steps=20", "checkpoint.enabled=false"});
  ASSERT_EQ(workspace.train(whole).exit_code, 0);
  const auto stage = [&](int processes, int batch, const Settings& more,
                         const Workspace::LineWatcher& watcher = {}) {
    const std::string count = std::to_string(processes);
    Settings command = {"launch", "--processes=" + count, "--", "train", "recipe.yaml"};
    if (processes == 1) command = {"train", "recipe.yaml"};
    const Settings settings = {"training.batch_size=" + std::to_string(batch),
                               "plugin.devices=" + count, "ici_data_parallelism=" + count};
    return workspace.run(join(join(command, kCommon), join(settings, more)), watcher);
  };
  const Ended stopped = stage(2, 8, {"training.steps=1000"}, signal_at(3, 15));
  ASSERT_EQ(stopped.exit_code, 0) << stopped.err;
  const Ended killed = stage(1, 6, {"training.steps=1000"}, signal_at(7, 9));
  ASSERT_EQ(killed.exit_code, 128 + 9);
  const Ended four = stage(4, 4, {"training.steps=13"});
  ASSERT_EQ(four.exit_code, 0) << four.err;
  const Ended last = stage(1, 12, {"training.steps=15"});
  ASSERT_EQ(last.exit_code, 0) << last.err;
  const Examples used = examples_of(workspace, "run");
  EXPECT_GE(used.size(), 70u);
  expect_same_order(examples_of(workspace, "whole"), used);
}

TEST(Data, RowsThatReplicasShareAreReadByEachOrByOneAndExchanged) {
  const Workspace workspace;
  const Settings tensor = {"training.steps=2", "plugin.devices=2", "ici_tensor_parallelism=2"};
  const Settings command = {"launch", "--processes=2", "--", "train", "recipe.yaml"};
  ASSERT_EQ(workspace.run(join(join(command, kCommon), tensor)).exit_code, 0);
  // The sharding says that both hold all rows.
  EXPECT_EQ(workspace.read("run/examples/process-0.jsonl"),
            workspace.read("run/examples/process-1.jsonl"));
  const Ended even = workspace.run(
      join(join(command, kCommon), join(tensor, {"data.loading=even", "output_directory=even"})));
  ASSERT_EQ(even.exit_code, 0) << even.err;
  EXPECT_EQ(examples_of(workspace, "even").size(), 16u) << "each row by one process";
  EXPECT_EQ(workspace.losses("even"), workspace.losses("run"));
  const Ended uneven = workspace.run(
      join(join(command, kCommon), join(tensor, {"data.loading=even", "training.batch_size=7"})));
  EXPECT_EQ(uneven.exit_code, 2) << uneven.err;
  EXPECT_THAT(uneven.err, AllOf(HasSubstr("data.loading"), HasSubstr("7")));
}

TEST(Data, AMixtureGoesOnWithOtherWeights) {
  const Workspace workspace;
  for (const std::string name : {"one", "two"}) {
    std::string text;
    for (int i = 0; i < 400; ++i) text += name + " line " + std::to_string(i) + "\n\n";
    for (int i = 0; i < 20; ++i)
      workspace.write("texts/" + name + "/" + std::to_string(i) + ".txt", text);
    const Ended built =
        workspace.run({"data", "build", "texts/" + name, "--output", name, "--tokenizer", "bytes"});
    ASSERT_EQ(built.exit_code, 0) << built.err;
  }
  const Settings mixture = join(kCommon, {"data.store=", "data.corpus=[]"});
  const auto train = [&](const std::string& weights, int steps) {
    return workspace.train(
        join(mixture, {"data.mixture={" + weights + "}", "training.steps=" + std::to_string(steps),
                       "schedule.steps=40"}));
  };
  const Ended first = train("first: [one, 0.75], second: [two, 0.25]", 20);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.err, AllOf(HasSubstr("data: first: "), HasSubstr("% full")));
  const Ended second = train("first: [one, 0.1], second: [two, 0.9]", 40);
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_THAT(second.err, HasSubstr("another mixture begins at example 160"));
  int used[2][2] = {};
  std::set<std::pair<int, int64_t>> once;
  for (const auto& [position, example] : examples_of(workspace, "run")) {
    ++used[position < 160 ? 0 : 1][example.first];
    EXPECT_TRUE(once.insert(example).second) << "position " << position;
  }
  EXPECT_GT(used[0][0], 90);
  EXPECT_GT(used[0][1], 15);
  EXPECT_GT(used[1][1], 120);
  // Generation and errors.
  EXPECT_EQ(workspace.run({"generate", "run/config.yaml", "--prompt", "one"}).exit_code, 0);
  const Ended missing = train("first: [one, 1], third: [three, 1]", 41);
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.err, AllOf(HasSubstr("data.mixture.third"), HasSubstr("data build")));
  const Ended wrong = train("first: [one, heavy]", 41);
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("mixture.first is [one, heavy]; required:"));
  const Ended both = workspace.train({"data.mixture={first: [one, 1]}"});
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_THAT(both.err, HasSubstr("is given beside mixture"));
  std::string words;
  for (uint64_t i = 1; i < 4000; ++i) {
    for (uint64_t rest = i * 2654435761 % 99991; rest > 0; rest /= 26)
      words += static_cast<char>('a' + rest % 26);
    words += i % 12 == 0 ? '\n' : ' ';
  }
  workspace.write("texts/three.txt", words);
  const Ended other = workspace.run({"data", "build", "texts/three.txt", "--output", "three",
                                     "--tokenizer", "sentencepiece", "--vocab_size", "300"});
  ASSERT_EQ(other.exit_code, 0) << other.err;
  const Ended tokenizers = train("first: [one, 1], third: [three, 1]", 41);
  EXPECT_EQ(tokenizers.exit_code, 1);
  EXPECT_THAT(tokenizers.err, HasSubstr("another tokenizer than one"));
}

TEST(Data, ARunThatTheDataDoNotSufficeForDoesNotBegin) {
  const Workspace workspace;
  const Ended many = workspace.train(join(kCommon, {"data.epochs=1", "training.steps=100000"}));
  EXPECT_EQ(many.exit_code, 2);
  const std::string kText = "the data ends after step ";
  const size_t at = many.err.find(kText);
  ASSERT_NE(at, std::string::npos) << many.err;
  const std::string steps = std::to_string(std::stoi(many.err.substr(at + kText.size())));
  EXPECT_THAT(many.err, HasSubstr("set training.steps=" + steps));
  const Ended enough =
      workspace.train(join(kCommon, {"data.epochs=1", "training.steps=" + steps,
                                     "output_directory=all", "checkpoint.interval=1000"}));
  ASSERT_EQ(enough.exit_code, 0) << enough.err;
  std::set<int64_t> examples;
  int64_t padding = 0;
  for (const auto& [position, example] : examples_of(workspace, "all")) {
    if (example.second < 0) {
      ++padding;
    } else {
      EXPECT_TRUE(examples.insert(example.second).second);
    }
  }
  EXPECT_LT(padding, 8);
  EXPECT_EQ(*examples.rbegin() + 1, std::ssize(examples)) << "each was used";
}

}  // namespace
}  // namespace tessera::e2e
