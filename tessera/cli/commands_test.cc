#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/str_split.h"
#include "tessera/base/filesystem.h"
#include "tessera/base/json.h"
#include "tessera/base/log.h"
#include "tessera/base/strings.h"
#include "tessera/base/testing.h"
#include "tessera/ckpt/sample_state.h"
#include "tessera/cli/command.h"
#include "tessera/cli/help.h"

namespace tessera::cli {
namespace {

using ::testing::HasSubstr;

struct Outcome {
  int code;
  std::string out, err;
};

Outcome run(const std::vector<std::string>& arguments) {
  std::ostringstream out, err;
  const int code = run_program(arguments, all_commands(), out, err);
  return {code, out.str(), err.str()};
}

/// A folder of its own for each test; the log is kept apart from the results.
class Commands : public ::testing::Test {
 protected:
  std::string at(const std::string& name) const { return folder_ / name; }
  void write(const std::string& name, std::string_view text) { folder_.write(name, text); }

  void save_checkpoints(const std::vector<int64_t>& steps) {
    const CheckpointManager manager(disk_, at("run/checkpoints"));
    ASSERT_TRUE(disk_.create_dirs(manager.directory()).ok());
    for (const int64_t step : steps) {
      const Status status = sample::save(manager, sample::request(step, sample::few_specs()));
      ASSERT_TRUE(status.ok()) << status;
    }
  }

  /// Turns one bit of the first chunk of parameter w.
  void damage(int64_t step) {
    const CheckpointManager manager(disk_, at("run/checkpoints"));
    const std::string path = join_path((*manager.open(step))->folder(), "state/params/w/c.0.0");
    std::string bytes = *disk_.read_file(path);
    bytes[0] ^= 1;
    ASSERT_TRUE(disk_.write_file_atomic(path, bytes).ok());
  }

  PosixFileSystem disk_;

 private:
  TempFolder folder_;
  std::string logged_;
  FakeClock clock_;
  LogSink sink_{[this](std::string_view text) { logged_ += text; }, clock_};
  ScopedLogSink scoped_{sink_};
};

TEST_F(Commands, EveryCommandHasAHelpTextWithItsUsageAndOptions) {
  for (const CommandMaker& make : all_commands()) {
    const std::unique_ptr<Command> command = make();
    const CommandText text = command->text();
    EXPECT_FALSE(text.summary.empty()) << text.name;
    const std::string help = command_help(*command);
    EXPECT_THAT(help, HasSubstr(str_cat("usage: tessera ", text.name)));
    ConfigFields fields(*command);
    for (const std::string& path : fields.paths())
      EXPECT_FALSE(fields.find(path)->help_text().empty()) << path;
  }
}

TEST_F(Commands, DataIsBuiltDescribedVerifiedAndShown) {
  write("a.txt", "one two three\n");
  write("b.jsonl", "{\"text\": \"four\"}\n{\"text\": \"five\"}\n");
  const Outcome built = run({"data", "build", at("a.txt"), at("b.jsonl"), "--output", at("store"),
                             "--tokenizer", "bytes"});
  EXPECT_EQ(built.code, 0) << built.err;
  EXPECT_THAT(built.out, HasSubstr("tokens of 3 documents"));
  const Outcome stat = run({"data", "stat", at("store"), "--verify"});
  EXPECT_EQ(stat.code, 0) << stat.err;
  EXPECT_THAT(stat.out, HasSubstr("documents    3\n"));
  EXPECT_THAT(stat.out, HasSubstr("every byte is as it was written"));
  const Outcome shown = run({"data", "show", at("store"), "--document", "1", "--count", "5"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("four"));
  EXPECT_THAT(shown.out, HasSubstr("five"));
  EXPECT_EQ(run({"data", "show", at("store"), "--document", "3"}).code, 1);
}

TEST_F(Commands, AMissingOrEmptyCorpusIsNamed) {
  const Outcome missing =
      run({"data", "build", at("nowhere"), "--output", at("store"), "--tokenizer", "bytes"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_THAT(missing.err, HasSubstr(at("nowhere")));
  ASSERT_TRUE(disk_.create_dirs(at("empty")).ok());
  const Outcome empty =
      run({"data", "build", at("empty"), "--output", at("store"), "--tokenizer", "bytes"});
  EXPECT_EQ(empty.code, 1);
  EXPECT_THAT(empty.err, HasSubstr(at("empty")));
  EXPECT_FALSE(disk_.exists(at("store")));
}

TEST_F(Commands, BuildingWithoutAnOutputIsWrongUsage) {
  const Outcome outcome = run({"data", "build", at("a.txt")});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--output is missing"));
}

TEST_F(Commands, InvalidUtf8IsReplacedAndCounted) {
  write("bad.txt",
        "a\xff"
        "b\xfe"
        "c");
  const Outcome built =
      run({"data", "build", at("bad.txt"), "--output", at("store"), "--tokenizer", "bytes"});
  EXPECT_EQ(built.code, 0) << built.err;
  EXPECT_THAT(built.out, HasSubstr("replaced 2 sequences that were not UTF-8"));
  EXPECT_THAT(run({"data", "stat", at("store")}).out,
              HasSubstr("2 invalid UTF-8 sequences replaced"));
}

TEST_F(Commands, ATokenStoreCutShortIsNamedWithItsFile) {
  write("a.txt", "one two three\n");
  ASSERT_EQ(
      run({"data", "build", at("a.txt"), "--output", at("store"), "--tokenizer", "bytes"}).code, 0);
  const std::string bytes = *disk_.read_file(at("store/tokens.bin"));
  write("store/tokens.bin", std::string_view(bytes).substr(0, bytes.size() - 1));
  const Outcome stat = run({"data", "stat", at("store")});
  EXPECT_EQ(stat.code, 1);
  EXPECT_THAT(stat.err, HasSubstr("tokens.bin"));
}

TEST_F(Commands, CheckpointsAreListedByRunOrByFolder) {
  save_checkpoints({10, 20});
  for (const std::string& folder : {at("run"), at("run/checkpoints")}) {
    const Outcome listed = run({"checkpoint", "ls", folder});
    EXPECT_EQ(listed.code, 0) << listed.err;
    EXPECT_THAT(listed.out, HasSubstr("step 10  "));
    EXPECT_THAT(listed.out, HasSubstr("step 20  "));
    EXPECT_THAT(listed.out, HasSubstr("3 arrays  data 1 x fsdp 2"));
  }
}

TEST_F(Commands, ADamagedCheckpointIsFoundWithItsFileAndParameter) {
  save_checkpoints({10, 20});
  EXPECT_EQ(run({"checkpoint", "verify", at("run")}).code, 0);
  damage(20);
  const Outcome verified = run({"checkpoint", "verify", at("run")});
  EXPECT_EQ(verified.code, 1);
  EXPECT_THAT(verified.out, HasSubstr("step 10: good\nstep 20: damaged\n"));
  EXPECT_THAT(verified.out, HasSubstr("state/params/w/c.0.0 (params.w): "));
  EXPECT_EQ(run({"checkpoint", "verify", at("run"), "--step", "10"}).code, 0);
}

TEST_F(Commands, ACheckpointThatLostAFileIsMarkedInTheList) {
  save_checkpoints({10});
  ASSERT_TRUE(disk_.remove(at("run/checkpoints/10/state/params/w/c.0.0")).ok());
  const Outcome listed = run({"checkpoint", "ls", at("run")});
  EXPECT_EQ(listed.code, 1);
  EXPECT_THAT(listed.out, HasSubstr("damaged:"));
}

TEST_F(Commands, ACheckpointIsShownWithItsArraysAndConfig) {
  save_checkpoints({10, 20});
  const Outcome shown = run({"checkpoint", "show", at("run")});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("step 20 in "));
  EXPECT_THAT(shown.out, ::testing::ContainsRegex("\nparams\n  b +bf16\\[4\\] +chunks of \\[4\\]"));
  EXPECT_THAT(shown.out,
              ::testing::ContainsRegex("\n  w +f32\\[4,4\\] +chunks of \\[2,4\\] +[0-9]"));
  EXPECT_THAT(shown.out, HasSubstr("\n3 arrays, "));
  EXPECT_THAT(shown.out, HasSubstr("config: {\"seed\""));
  EXPECT_THAT(run({"checkpoint", "show", at("run"), "--step", "10"}).out, HasSubstr("step 10 in "));
  const Outcome missing = run({"checkpoint", "show", at("run"), "--step", "11"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_THAT(missing.err, HasSubstr("10, 20"));
}

TEST_F(Commands, TheNormOfEveryArrayIsShownWhereAskedFor) {
  const ArraySpec spec{"params.w", {DType::kF32, {2}}, {2}, {}, {}};
  const HostArray values = from_doubles(spec.shape, std::vector<double>{3, -4});
  const CheckpointManager manager(disk_, at("run/checkpoints"));
  const auto writer = manager.begin(5, {spec});
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_TRUE((*writer)->write_shard(spec.name, {{0}, {2}}, values.bytes()).ok());
  ASSERT_TRUE((*writer)->commit({}).ok());
  EXPECT_THAT(run({"checkpoint", "show", at("run")}).out, ::testing::Not(HasSubstr("norm")));
  EXPECT_THAT(run({"checkpoint", "show", at("run"), "--norms"}).out, HasSubstr("norm 5\n"));
}

TEST_F(Commands, CheckpointsThatDifferAreComparedArrayByArray) {
  const auto save = [&](const std::string& folder, int64_t step, double value) {
    const ArraySpec w{"params.w", {DType::kF32, {2}}, {2}, {}, {}};
    const ArraySpec b{"params.b", {DType::kF32, {1}}, {1}, {}, {}};
    const CheckpointManager manager(disk_, folder);
    ASSERT_TRUE(disk_.create_dirs(folder).ok());
    const auto writer = *manager.begin(step, {w, b});
    const HostArray values = from_doubles(w.shape, std::vector<double>{3, value});
    const HostArray same = from_doubles(b.shape, std::vector<double>{1});
    ASSERT_TRUE(writer->write_shard("params.w", {{0}, {2}}, values.bytes()).ok());
    ASSERT_TRUE(writer->write_shard("params.b", {{0}, {1}}, same.bytes()).ok());
    Manifest manifest;
    manifest.config_json = str_cat(R"({"model": {"layers": )", step, "}}");
    ASSERT_TRUE(writer->commit(manifest).ok());
  };
  save(at("run/checkpoints"), 1, 4);
  save(at("run/checkpoints"), 2, 4.5);
  save(at("other/checkpoints"), 2, 4.5);
  const Outcome differ = run({"checkpoint", "diff", at("run"), "--step", "1"});
  EXPECT_EQ(differ.code, 1) << differ.err;
  for (const char* part : {"step: 1 | 2\n", "config: model.layers 1 -> 2\n", "1 elements differ",
                           "by up to 0.5", "0.1 of the norm", "1 of 2 arrays are the same"})
    EXPECT_THAT(differ.out, HasSubstr(part));
  const Outcome same = run({"checkpoint", "diff", at("run"), at("other")});
  EXPECT_EQ(same.code, 0) << same.out;
  EXPECT_THAT(same.out, HasSubstr("2 of 2 arrays are the same"));
}

TEST_F(Commands, OldCheckpointsAreRemovedOnceTheNewestIsKnownToBeGood) {
  save_checkpoints({10, 20, 30, 40});
  const std::vector<std::string> prune = {"checkpoint", "prune", at("run"), "--keep", "1"};
  std::vector<std::string> dry = prune;
  dry.push_back("--dry-run");
  EXPECT_THAT(run(dry).out, HasSubstr("would remove steps 30, 20, 10\n"));
  EXPECT_TRUE(disk_.exists(at("run/checkpoints/10")));
  damage(40);  // then it is no reason to let the others go
  ASSERT_TRUE(disk_.create_dirs(at("run/checkpoints/50.tmp/state")).ok());
  EXPECT_THAT(run(prune).out, HasSubstr("removed steps 20, 10\n"));
  EXPECT_TRUE(disk_.exists(at("run/checkpoints/30")));
  EXPECT_FALSE(disk_.exists(at("run/checkpoints/50.tmp")));
  EXPECT_EQ(run({"checkpoint", "prune", at("run")}).code, 2) << "--keep is not to be guessed";
}

// Wherever a run saves to, and however that is written.
TEST_F(Commands, NothingIsRemovedWhereARunSaves) {
  save_checkpoints({10, 20});
  ASSERT_TRUE(disk_.rename(at("run/checkpoints"), at("elsewhere")).ok());
  const CheckpointManager run_under_way(disk_, at("elsewhere"));
  ASSERT_TRUE(run_under_way.clean().ok());
  ASSERT_TRUE(disk_.create_dirs(at("elsewhere/30.tmp")).ok());
  for (const std::string& folder : {at("elsewhere"), at("elsewhere/"), at("elsewhere/.")}) {
    const Outcome pruned = run({"checkpoint", "prune", folder, "--keep", "1"});
    EXPECT_EQ(pruned.code, 1);
    EXPECT_THAT(pruned.err, HasSubstr(folder + " is in use: process "));
  }
  EXPECT_TRUE(disk_.exists(at("elsewhere/30.tmp")));
  EXPECT_TRUE(disk_.exists(at("elsewhere/10")));
}

TEST_F(Commands, MoreLeastProcessesThanThereAreIsWrongUsage) {
  const Outcome outcome = run({"launch", "--processes", "2", "--min-processes", "3", "--", "true"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--min-processes is 3, and --processes is 2"));
}

TEST_F(Commands, AFolderThatIsNotThereIsNamed) {
  for (const char* command : {"ls", "verify", "show", "diff"}) {
    const Outcome outcome = run({"checkpoint", command, at("nowhere")});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, HasSubstr(at("nowhere")));
  }
}

TEST_F(Commands, TheMeshShowsWhatEveryParameterAndActivationBecomes) {
  const Outcome outcome = run({"mesh", "--devices", "4", "ici_data_parallelism=2",
                               "ici_fsdp_parallelism=2", "model.embed=512"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("mesh data=2, fsdp=2: 4 devices"));
  // 6 layers x 512 x 1536 weights of 4 bytes, halved by fsdp.
  EXPECT_THAT(outcome.out, ::testing::ContainsRegex(
                               "params.layers.mlp.up.kernel +layers 6, embed 512, mlp 1536 +"
                               "\\[_,fsdp,_\\] +f32\\[6,256,1536\\] +9.00 MiB"));
  EXPECT_THAT(outcome.out, HasSubstr("[(data,fsdp),_]"));
  EXPECT_THAT(outcome.out, HasSubstr("a device: weights "));
}

TEST_F(Commands, AMeshOfSlicesIsDrawnWithTheRulesThatAct) {
  const Outcome outcome = run({"mesh", "--devices", "8", "--slices", "2",
                               "ici_tensor_parallelism=2", "training.batch_size=8"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("mesh data=2, fsdp=2, tensor=2: 8 devices in 2 slices"));
  EXPECT_THAT(outcome.out, ::testing::ContainsRegex("  fsdp +2 +2 +1\n"));
  // slice 1, data 1, fsdp 0 holds devices 4 and 5.
  EXPECT_THAT(outcome.out, ::testing::ContainsRegex("\n  1 +1 +0 +4 +5\n"));
  EXPECT_THAT(outcome.out, ::testing::ContainsRegex("\n  activation_batch +data, fsdp\n"));
  EXPECT_THAT(outcome.out,
              ::testing::ContainsRegex("params.norm.scale +\\[tensor\\] +fsdp +512 bytes"));
}

TEST_F(Commands, AMeshIsPrintedAsJson) {
  const Outcome outcome = run({"mesh", "--devices", "4", "--json", "ici_data_parallelism=2"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto json = parse_json(outcome.out, "the report");
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ((*json)["devices"], 4);
  double bytes = 0;
  for (const Json& tensor : (*json)["params"]) bytes += tensor["bytes"].get<double>();
  for (const Json& tensor : (*json)["params"]) bytes += tensor["bytes"].get<double>();
  for (const Json& tensor : (*json)["optimizer"]) bytes += tensor["bytes"].get<double>();
  EXPECT_EQ((*json)["state_bytes"], bytes);
}

TEST_F(Commands, AMeshThatDoesNotFitTheDevicesIsWrongUsage) {
  const Outcome outcome = run({"mesh", "--devices", "3", "ici_data_parallelism=2"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("ici_data_parallelism=2 makes 2, and there are 3 devices"));
}

/// A config as YAML without the notes of where its values came from.
std::string without_origins(const std::string& yaml) {
  std::string text;
  const std::vector<std::string> lines = absl::StrSplit(yaml, '\n');
  for (const std::string& line : lines) {
    str_append(&text, line.substr(0, line.find("  #")), "\n");
  }
  return text;
}

TEST_F(Commands, ThePrintedConfigIsARecipeOfTheSameRun) {
  write("recipe.yaml", "model: {layers: 3}\noptimizer: {no_decay: 'a: b'}\n");
  const Outcome printed =
      run({"train", at("recipe.yaml"), "training.seed=7", "--devices", "2", "--print-config"});
  EXPECT_EQ(printed.code, 0) << printed.err;
  EXPECT_THAT(printed.out, HasSubstr(str_cat("  layers: 3  # ", at("recipe.yaml"), ":1\n")));
  EXPECT_THAT(printed.out, HasSubstr("  seed: 7  # command line\n"));
  EXPECT_THAT(printed.out, HasSubstr("  devices: 2  # command line\n"));
  write("again.yaml", printed.out);
  const Outcome again = run({"train", at("again.yaml"), "--print-config"});
  EXPECT_EQ(without_origins(again.out), without_origins(printed.out));
}

TEST_F(Commands, TrainingWithoutARecipeOrAnOutputDirectoryIsWrongUsage) {
  EXPECT_EQ(run({"train"}).code, 2);
  EXPECT_THAT(run({"train", "training.steps=3"}).err, HasSubstr("the recipe is missing"));
  write("recipe.yaml", "training: {steps: 3}\n");
  const Outcome outcome = run({"train", at("recipe.yaml")});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("output_directory is empty"));
}

TEST_F(Commands, ABadRecipeExitsWithTwoAndNamesItsLine) {
  write("bad.yaml", "model:\n  layer: 3\n");
  const Outcome outcome = run({"mesh", at("bad.yaml")});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err, str_cat("tessera mesh: ", at("bad.yaml"),
                                 ":2: there is no key model.layer; the nearest is model.layers\n"));
  EXPECT_EQ(run({"mesh", at("nowhere.yaml")}).code, 2);
  EXPECT_EQ(run({"mesh", at("a.yaml"), at("b.yaml")}).code, 2);
}

TEST_F(Commands, TheDoctorReportsTheMachineAndAPluginThatDoesNotLoad) {
  const Outcome outcome = run({"doctor", "--plugin", at("missing.so")});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("machine\n"));
  EXPECT_THAT(outcome.out, HasSubstr("cores"));
  EXPECT_THAT(outcome.out, HasSubstr(str_cat("broken: ")));
  EXPECT_THAT(outcome.out, HasSubstr(at("missing.so")));
}

}  // namespace
}  // namespace tessera::cli
