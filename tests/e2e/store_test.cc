// A run whose checkpoints are in an object store: moto's server, on loopback.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>

#include "tests/e2e/program.h"
#include "tests/storage/moto_store.h"

namespace tessera::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kDirectory[] = "checkpoint.directory=s3://bucket/run";

class StoreRun : public ::testing::Test {
 protected:
  StoreRun() {
    const S3Account account = store_.account();
    set("AWS_ACCESS_KEY_ID", account.access_key_id);
    set("AWS_SECRET_ACCESS_KEY", account.secret_access_key);
    set("AWS_ENDPOINT_URL", account.endpoint);
    set("HOME", workspace_.folder());
  }
  ~StoreRun() override {
    for (const auto& [name, value] : before_) {
      if (value) {
        ::setenv(name.c_str(), value->c_str(), 1);
      } else {
        ::unsetenv(name.c_str());
      }
    }
  }
  void set(const std::string& name, const std::string& value) {
    const char* old = std::getenv(name.c_str());
    before_.emplace(name, old == nullptr ? std::nullopt : std::optional<std::string>(old));
    ::setenv(name.c_str(), value.c_str(), 1);
  }

  std::map<std::string, std::optional<std::string>> before_;
  storage_testing::MotoStore store_;
  const Workspace workspace_;
};

TEST_F(StoreRun, AKilledRunGoesOnFromTheStoreBitForBit) {
  // Longer than it lives: how far it gets is left open.
  const Ended killed = workspace_.train(
      {kDirectory, "checkpoint.interval=3", "training.steps=20000", "schedule.steps=12"},
      [](const std::string& line) -> std::optional<int> {
        return line.find("saved checkpoint s3://") == std::string::npos
                   ? std::nullopt
                   : std::optional<int>(SIGKILL);
      });
  EXPECT_EQ(killed.exit_code, 128 + SIGKILL) << killed.err;
  const int reached = workspace_.losses("run").rbegin()->first, last = reached / 3 * 3 + 6;
  const std::string steps = "training.steps=" + std::to_string(last);
  const std::string before = "step " + std::to_string(last - 3),
                    newest = "step " + std::to_string(last);
  ASSERT_EQ(workspace_.train({"output_directory=whole", steps, "schedule.steps=12"}).exit_code, 0);
  const Ended ended =
      workspace_.train({kDirectory, "checkpoint.interval=3", steps, "schedule.steps=12"});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("resumed from s3://bucket/run/"));
  EXPECT_EQ(workspace_.losses("run"), workspace_.losses("whole")) << ended.err;
  EXPECT_EQ(workspace_.shell("test -e run/checkpoints").exit_code, 1) << "nothing on the disk";

  const Ended listed = workspace_.run({"checkpoint", "ls", "s3://bucket/run"});
  EXPECT_THAT(listed.out, AllOf(HasSubstr(before), HasSubstr(newest))) << listed.err;
  const Ended verified = workspace_.run({"checkpoint", "verify", "s3://bucket/run"});
  EXPECT_EQ(verified.exit_code, 0) << verified.out << verified.err;
  EXPECT_THAT(verified.out, HasSubstr(newest + ": good"));
  const Ended pruned = workspace_.run({"checkpoint", "prune", "s3://bucket/run", "--keep", "1"});
  EXPECT_EQ(pruned.exit_code, 0) << pruned.err;
  EXPECT_THAT(workspace_.run({"checkpoint", "ls", "s3://bucket/run"}).out,
              AllOf(HasSubstr(newest), Not(HasSubstr(before))));
  const Ended begun = workspace_.train(
      {"output_directory=tuned", "training.steps=3", "checkpoint.initialize_from=s3://bucket/run"});
  EXPECT_EQ(begun.exit_code, 0) << begun.err;
  const Ended text =
      workspace_.run({"generate", "recipe.yaml", "--prompt", "a", "--max_tokens", "4", kDirectory});
  EXPECT_EQ(text.exit_code, 0) << text.err;
}

TEST_F(StoreRun, WhatCannotBeSavedToIsSaidBeforeTheFirstStep) {
  const auto refused = [&](const std::string& directory, const std::string& why) {
    const Ended ended = workspace_.train({"checkpoint.directory=" + directory});
    EXPECT_EQ(ended.exit_code, 2) << ended.err;
    EXPECT_THAT(ended.err, AllOf(HasSubstr(why), Not(HasSubstr("step 1/"))));
  };
  refused("s3://nobucket/run", "NoSuchBucket");
  refused("s3://", "has no bucket");
  const Ended listed = workspace_.run({"checkpoint", "ls", "s3://nobucket/run"});
  EXPECT_EQ(listed.exit_code, 2) << listed.err;
  set("AWS_ENDPOINT_URL", "http://127.0.0.1:1");
  refused("s3://bucket/run", "at http://127.0.0.1:1");
  ::unsetenv("AWS_ACCESS_KEY_ID");
  ::unsetenv("AWS_SECRET_ACCESS_KEY");
  refused("s3://bucket/run", "AWS_ACCESS_KEY_ID");
}

}  // namespace
}  // namespace tessera::e2e
