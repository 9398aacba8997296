// Fine-tuning: conversations, adapters, and what a run may begin with or end at.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/e2e/program.h"

namespace tessera::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Conversations whose answers can be learned; what users say cannot.
void write_conversations(const Workspace& workspace) {
  std::string lines;
  for (int i = 0; i < 200; ++i) {
    const std::string number = std::to_string(i * 7919 % 1000);
    lines += R"({"messages": [{"role": "user", "content": "say )" + number +
             R"("}, {"role": "assistant", "content": "here it is"}]})" + "\n";
  }
  workspace.write("chat/chat.jsonl", lines);
}

const std::vector<std::string> kSft = {"task=sft", "data.corpus=[chat]", "data.store=chat-tokens"};

std::vector<std::string> operator+(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(Sft, LearnsWhatTheAssistantSays) {
  const Workspace workspace;
  write_conversations(workspace);
  const Ended ended = workspace.train(
      kSft + std::vector<std::string>{"training.steps=60", "training.sequence_length=96",
                                      "schedule.learning_rate=1e-2"});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const auto losses = workspace.losses("run");
  EXPECT_GT(std::stod(losses.at(1)), 3);
  // Far below what the users' random digits would leave, were they learned too.
  EXPECT_LT(std::stod(losses.at(60)), 0.2);
}

TEST(Sft, DataBuildMakesTheStoreThatARecipeTakes) {
  const Workspace workspace;
  write_conversations(workspace);
  const Ended built = workspace.run({"data", "build", "chat", "--output", "chat-tokens",
                                     "--tokenizer", "bytes", "--task", "sft"});
  ASSERT_EQ(built.exit_code, 0) << built.err;
  EXPECT_TRUE(std::filesystem::exists(workspace.path("chat-tokens/loss_mask.bin")));
  const Ended shown = workspace.run({"data", "show", "chat-tokens"});
  EXPECT_THAT(shown.out,
              AllOf(HasSubstr("<|im_start|>assistant"), HasSubstr("here it is<|im_end|>")));
  const Ended ended = workspace.train(kSft + std::vector<std::string>{"training.steps=2"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
}

TEST(Sft, AStoreOfPlainTextIsRefusedBeforeAnythingIsCompiled) {
  const Workspace workspace;
  ASSERT_EQ(workspace.train({"training.steps=2"}).exit_code, 0);
  const Ended ended = workspace.train({"task=sft", "output_directory=other"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("task is sft"), HasSubstr("data.store"),
                               HasSubstr("messages"), Not(HasSubstr("compiled"))));
}

TEST(Sft, ALineThatIsNoConversationIsNamed) {
  const Workspace workspace;
  workspace.write("chat/chat.jsonl",
                  "{\"messages\": [{\"role\": \"robot\", \"content\": \"x\"}]}\n");
  const Ended ended = workspace.train(kSft);
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.err,
              AllOf(HasSubstr("chat.jsonl:1"), HasSubstr("robot"), HasSubstr("assistant")));
}

const std::vector<std::string> kLora = {"lora.rank=2", "checkpoint.initialize_from=base",
                                        "output_directory=lora", "schedule.learning_rate=1e-2"};

TEST(Lora, SavesAdaptersAloneResumesAndMerges) {
  const Workspace workspace;
  ASSERT_EQ(workspace.train({"output_directory=base"}).exit_code, 0);
  const double base_loss = std::stod(workspace.losses("base").at(12));
  const Ended whole = workspace.train(kLora + std::vector<std::string>{"output_directory=whole"});
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_THAT(whole.err, HasSubstr("weights from base/checkpoints/12"));
  const auto losses = workspace.losses("whole");
  EXPECT_LT(std::stod(losses.at(1)), base_loss + 0.2);
  EXPECT_LT(std::stod(losses.at(12)), std::stod(losses.at(1)));

  ASSERT_EQ(
      workspace.train(kLora + std::vector<std::string>{"training.steps=5", "schedule.steps=12"})
          .exit_code,
      0);
  const Ended rest = workspace.train(kLora);
  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_EQ(workspace.losses("lora"), losses);

  const Ended shown = workspace.run({"checkpoint", "show", "lora"});
  EXPECT_THAT(shown.out, AllOf(HasSubstr("      query\n        kernel_lora_a  "),
                               Not(HasSubstr("embedding  ")), Not(HasSubstr("kernel  "))));

  std::vector<std::string> merge = {"checkpoint", "merge", "recipe.yaml", "--output", "merged"};
  const Ended merged = workspace.run(merge + kLora);
  ASSERT_EQ(merged.exit_code, 0) << merged.err;
  const std::vector<std::string> generate = {"generate", "recipe.yaml",   "--prompt",
                                             "Line",     "--temperature", "0"};
  const Ended unmerged_text = workspace.run(generate + kLora);
  const Ended merged_text =
      workspace.run(generate + std::vector<std::string>{"output_directory=merged"});
  ASSERT_EQ(merged_text.exit_code, 0) << merged_text.err;
  EXPECT_EQ(unmerged_text.out, merged_text.out);
}

TEST(Lora, WithoutABaseItIsRefused) {
  const Workspace workspace;
  const Ended none = workspace.train({"lora.rank=2"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, AllOf(HasSubstr("lora.rank"), HasSubstr("checkpoint.initialize_from=")));
  const Ended missing = workspace.train({"lora.rank=2", "checkpoint.initialize_from=nowhere"});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.err, AllOf(HasSubstr("initialize_from"), HasSubstr("nowhere")));
  const Ended targets = workspace.train(
      {"lora.rank=2", "lora.targets=atention", "checkpoint.initialize_from=nowhere"});
  EXPECT_EQ(targets.exit_code, 2);
  EXPECT_THAT(targets.err, AllOf(HasSubstr("lora.targets"), HasSubstr("atention")));
}

TEST(InitializeFrom, BeginsWithAnotherRunsWeightsAndItsOwnSchedule) {
  const Workspace workspace;
  ASSERT_EQ(workspace.train({"output_directory=base"}).exit_code, 0);
  const double base_loss = std::stod(workspace.losses("base").at(12));
  for (const char* from : {"base", "base/checkpoints", "base/checkpoints/12"}) {
    const Ended ended = workspace.train({std::string("checkpoint.initialize_from=") + from,
                                         "training.steps=2", "checkpoint.enabled=false"});
    ASSERT_EQ(ended.exit_code, 0) << from << ended.err;
    EXPECT_LT(std::stod(workspace.losses("run").at(1)), base_loss + 0.2) << from;
  }
}

TEST(Training, EndsWhereAValidationReachesTheTarget) {
  const Workspace workspace;
  const Ended ended =
      workspace.train({"training.target_eval_loss=100", "training.eval_interval=3"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("reaches training.target_eval_loss"),
                               HasSubstr("saved checkpoint run/checkpoints/3")));
  EXPECT_EQ(workspace.losses("run").size(), 3u);
  const Ended again =
      workspace.train({"training.target_eval_loss=100", "training.eval_interval=3"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("lower training.target_eval_loss to go on"));
  EXPECT_EQ(workspace.losses("run").size(), 3u);
  const Ended lower = workspace.train(
      {"training.target_eval_loss=0.1", "training.eval_interval=3", "training.steps=4"});
  EXPECT_EQ(lower.exit_code, 0) << lower.err;
  EXPECT_EQ(workspace.losses("run").size(), 4u);
}

TEST(Training, ScannedAndUnrolledLayersShareACheckpoint) {
  const Workspace workspace;
  ASSERT_EQ(workspace.train({"output_directory=whole"}).exit_code, 0);
  ASSERT_EQ(workspace.train({"training.steps=6", "schedule.steps=12"}).exit_code, 0);
  const Ended rest = workspace.train({"training.scan_layers=false"});
  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_THAT(rest.err, HasSubstr("resumed from"));
  const auto expected = workspace.losses("whole"), got = workspace.losses("run");
  ASSERT_EQ(got.size(), 12u);
  for (const auto& [step, loss] : expected)
    EXPECT_NEAR(std::stod(got.at(step)) / std::stod(loss), 1, 1e-5) << step;
}

TEST(Training, DropoutAndSkippingResumeToTheLastBit) {
  const Workspace workspace;
  const std::vector<std::string> options = {"training.dropout=0.1",
                                            "optimizer.skip_step_on_spikes=true",
                                            "optimizer.spike_interval=4", "schedule.steps=12"};
  ASSERT_EQ(workspace.train(options + std::vector<std::string>{"output_directory=whole"}).exit_code,
            0);
  ASSERT_EQ(workspace.train(options + std::vector<std::string>{"training.steps=7"}).exit_code, 0);
  ASSERT_EQ(workspace.train(options).exit_code, 0);
  EXPECT_EQ(workspace.losses("run"), workspace.losses("whole"));
  EXPECT_THAT(workspace.read("run/metrics.jsonl"), HasSubstr("step_skipped"));
}

TEST(Training, SkippingMayBeginInARunThatDidNotSkip) {
  const Workspace workspace;
  ASSERT_EQ(workspace.train({"training.steps=4", "schedule.steps=12"}).exit_code, 0);
  const Ended rest = workspace.train({"optimizer.skip_step_on_spikes=true"});
  EXPECT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_EQ(workspace.losses("run").size(), 12u);
}

TEST(ExplainMemory, PrintsATableOfPoliciesAndTrainsNothing) {
  const Workspace workspace;
  const Ended ended = workspace.run({"train", "recipe.yaml", "--explain-memory"});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  for (const char* part : {"none (chosen)", "save_dots", "minimal", "save_qkv", "save_out", "full",
                           "+0.0 %", "temporary a device"}) {
    EXPECT_THAT(ended.out, HasSubstr(part));
  }
  EXPECT_FALSE(std::filesystem::exists(workspace.path("run")));
}

}  // namespace
}  // namespace tessera::e2e
