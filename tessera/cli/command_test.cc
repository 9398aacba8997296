#include "tessera/cli/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "absl/strings/str_join.h"
#include "tessera/base/strings.h"

namespace tessera::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Greet : public Command {
 public:
  CommandText text() const override {
    return {.name = "greet",
            .operands = "NAME [NAME]",
            .summary = "Greets.",
            .min_operands = 1,
            .max_operands = 2};
  }
  void fields(ConfigFields& f) override {
    f.field("how_often", how_often_).range(1, 9).help("Times.");
    f.field("word", word_).help("The greeting.");
    f.field("loud", loud_).help("With an exclamation mark.");
  }
  Result<int> run(const Invocation& invocation) override {
    for (int i = 0; i < how_often_; ++i) {
      invocation.out << word_ << " " << absl::StrJoin(invocation.operands, "+")
                     << (loud_ ? "!" : ".");
    }
    return 0;
  }

 private:
  int how_often_ = 1;
  std::string word_ = "hello";
  bool loud_ = false;
};

class Fail : public Command {
 public:
  CommandText text() const override {
    return {.name = "tree fail", .summary = "Fails.", .max_operands = 1};
  }
  Result<int> run(const Invocation& invocation) override {
    if (invocation.operands.empty()) return failed_precondition("no luck");
    if (invocation.operands[0] == "usage") return usage_error(invalid_argument("bad config"));
    return std::stoi(invocation.operands[0]);
  }
};

struct Outcome {
  int code;
  std::string out, err;
};

Outcome run(const std::vector<std::string>& arguments) {
  const std::vector<CommandMaker> commands = {
      [] { return std::unique_ptr<Command>(std::make_unique<Greet>()); },
      [] { return std::unique_ptr<Command>(std::make_unique<Fail>()); },
  };
  std::ostringstream out, err;
  const int code = run_program(arguments, commands, out, err);
  return {code, out.str(), err.str()};
}

TEST(Program, OptionsAndOperandsMayBeMixed) {
  const Outcome outcome = run({"greet", "a", "--how-often", "2", "--word=hi there", "b", "--loud"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "hi there a+b!hi there a+b!");
  EXPECT_EQ(outcome.err, "");
}

TEST(Program, AnOptionsTextIsTakenAsItIs) {
  for (const char* const text : {"", "null", "7", "# A title", "Note: this", "{a: b}", "[",
                                 " \"quoted\" ", "one\ntwo", "\"all\"", "- item", "a=b", "--"}) {
    const std::string word = text;
    const Outcome outcome = run({"greet", "you", "--word", word});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, word + " you.");
  }
}

TEST(Program, AfterTwoDashesEverythingIsAnOperand) {
  EXPECT_EQ(run({"greet", "--", "--loud"}).out, "hello --loud.");
}

TEST(Program, AFlagMayBeTurnedOff) {
  EXPECT_EQ(run({"greet", "a", "--loud", "--loud=false"}).out, "hello a.");
}

TEST(Program, AnUnknownOptionExitsWithTwoAndNamesTheNearest) {
  const Outcome outcome = run({"greet", "a", "--how-oftne", "2"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err,
            "tessera greet: there is no option --how-oftne; the nearest is --how-often\n");
}

TEST(Program, HelpTakesNoValue) {
  EXPECT_EQ(run({"greet", "--help=3"}).code, 2);
  EXPECT_EQ(run({"greet", "--help=3"}).err, "tessera greet: the option --help takes no value\n");
}

TEST(Program, AnOptionWithOneDashIsNoOperand) {
  EXPECT_EQ(run({"greet", "-v"}).code, 2);
  EXPECT_THAT(run({"greet", "-v"}).err, HasSubstr("there is no option -v"));
  EXPECT_EQ(run({"greet", "--", "-v"}).out, "hello -v.");
  EXPECT_EQ(run({"greet", "-"}).out, "hello -.");
}

TEST(Program, AWrongOrMissingValueExitsWithTwoAndSaysWhatIsRequired) {
  EXPECT_EQ(run({"greet", "a", "--how-often", "10"}).code, 2);
  EXPECT_THAT(run({"greet", "a", "--how-often", "10"}).err,
              HasSubstr("how_often is \"10\": an integer from 1 to 9"));
  EXPECT_EQ(run({"greet", "a", "--how-often"}).err,
            "tessera greet: --how-often needs a value: an integer from 1 to 9\n");
}

TEST(Program, TooFewOrTooManyOperandsExitWithTwo) {
  EXPECT_EQ(run({"greet"}).err, "tessera greet: 0 operands were given, required: NAME [NAME]\n");
  EXPECT_EQ(run({"greet"}).code, 2);
  EXPECT_EQ(run({"greet", "a", "b", "c"}).code, 2);
}

TEST(Program, AnUnknownCommandExitsWithTwoAndNamesTheNearest) {
  EXPECT_EQ(run({"gret"}).code, 2);
  EXPECT_EQ(run({"gret"}).err, "tessera: there is no command gret; the nearest is greet\n");
  EXPECT_EQ(run({"tree", "fali"}).err,
            "tessera: there is no command tree fali; the nearest is tree fail\n");
  EXPECT_EQ(run({"tere", "fail"}).err, "tessera: there is no command tere; the nearest is tree\n");
  EXPECT_EQ(run({"--verison"}).err,
            "tessera: there is no command --verison; the nearest is --version\n");
  EXPECT_THAT(run({"xyzzy-plugh"}).err, HasSubstr("`tessera --help` lists"));
}

TEST(Program, HelpIsThereForTheProgramAGroupAndACommand) {
  for (const auto& arguments :
       std::vector<std::vector<std::string>>{{"--help"}, {"help"}, {"-h"}}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 0);
    EXPECT_THAT(outcome.out, HasSubstr("greet NAME [NAME]"));
    EXPECT_THAT(outcome.out, HasSubstr("tree fail"));
  }
  EXPECT_THAT(run({"tree", "--help"}).out, Not(HasSubstr("greet")));
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"greet", "--help"}, {"help", "greet"}, {"--help", "greet"}}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 0);
    EXPECT_THAT(outcome.out, HasSubstr("usage: tessera greet NAME [NAME]"));
    EXPECT_THAT(outcome.out,
                HasSubstr("--how-often VALUE  Times. (an integer from 1 to 9; default 1)"));
    EXPECT_THAT(outcome.out, HasSubstr("--loud "));
  }
}

TEST(Program, WithoutACommandTheOverviewGoesToStandardErrorAndTheExitCodeIsTwo) {
  EXPECT_EQ(run({}).code, 2);
  EXPECT_THAT(run({}).err, HasSubstr("usage: tessera COMMAND"));
  EXPECT_EQ(run({"tree"}).code, 2);
  EXPECT_THAT(run({"tree"}).err, HasSubstr("usage: tessera tree COMMAND"));
}

TEST(Program, TheVersionIsPrinted) {
  EXPECT_THAT(run({"--version"}).out, ::testing::MatchesRegex("tessera [0-9.]+\n"));
}

TEST(Program, TheExitCodeTellsFailureFromWrongUsage) {
  EXPECT_EQ(run({"tree", "fail"}).code, 1);
  EXPECT_EQ(run({"tree", "fail"}).err, "tessera tree fail: no luck\n");
  EXPECT_EQ(run({"tree", "fail", "usage"}).code, 2);
  EXPECT_EQ(run({"tree", "fail", "130"}).code, 130);
}

}  // namespace
}  // namespace tessera::cli
