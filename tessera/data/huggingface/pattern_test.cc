#include "tessera/data/huggingface/pattern.h"

#include <gmock/gmock.h>

#include "tessera/data/huggingface/pattern_syntax.h"
#include "tessera/data/huggingface/pre_tokenizer.h"

namespace tessera::huggingface {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Pattern compile(std::string_view oniguruma) {
  return Pattern::compile(pcre2_of_oniguruma(oniguruma).value()).value();
}

bool matches(std::string_view oniguruma, std::string_view text) {
  MatchSpace space;
  Match match;
  return compile(oniguruma).find(text, 0, space, &match).value() && match.begin == 0 &&
         match.end == text.size();
}

TEST(PatternTest, MeansWhatOnigurumaMeans) {
  EXPECT_TRUE(matches(R"(\s+)", " \t\n\v\f\r\u0085\u00a0\u2003\u3000"));
  EXPECT_FALSE(matches(R"(\s)", "\u180e")) << "PCRE2 takes it for a space";
  EXPECT_TRUE(matches(R"(\S\D)", "x\u180e"));
  EXPECT_TRUE(matches(R"(\p{L}+)", "aZ\u00df\u65e5\U00010D4A\U000323AF")) << "Unicode 16";
  EXPECT_TRUE(matches(R"(\P{L}\p{^N})", "1x"));
  EXPECT_TRUE(matches(R"(\p{N}{1,3})", "1\u0663\U00010D40"));
  EXPECT_TRUE(matches(R"([^\s\p{L}\p{N}]+)", "!-\u3002\u180e"));
  EXPECT_FALSE(matches(R"([^\s\p{L}\p{N}])", "\U0001E5D0"));
  EXPECT_TRUE(matches(R"(\p{Han}+)", "\u65e5\U0002EBF0"));
  EXPECT_FALSE(matches(R"(\p{Han})", "\u3001")) << "not of the script, only used with it";
  EXPECT_TRUE(matches(R"((?i:'s|'T)+)", "'S't'\u017f"));
  EXPECT_TRUE(matches(R"((?i:(?-i:[s])s|x)[a]ss)", "sSass"));
  EXPECT_TRUE(matches(R"([!-/\-\]\\a-c#]+)", "!,-]\\b#"));
  EXPECT_TRUE(matches(R"(a{,2}b{2,}(c|d)\x{41}\u0042{x}#)", "aabbbdAB{x}#"));
  EXPECT_TRUE(matches(R"(. .)", "\u65e5 \r"));
  EXPECT_FALSE(matches(".", "\n"));
}

TEST(PatternTest, WhatIsNotSupportedIsNamedWithItsPlace) {
  const auto error = [](std::string_view pattern) {
    return std::string(pcre2_of_oniguruma(pattern).status().message());
  };
  EXPECT_THAT(error("ab^"), AllOf(HasSubstr("anchor ^"), HasSubstr("byte 2")));
  EXPECT_THAT(error(R"(\w+)"), HasSubstr(R"(escape \w)"));
  EXPECT_THAT(error(R"((a)\1)"), HasSubstr(R"(escape \1)"));
  EXPECT_THAT(error(R"(\p{Greek})"), HasSubstr("property Greek"));
  EXPECT_THAT(error("[a[b]]"), HasSubstr("class inside a class"));
  EXPECT_THAT(error("[a&&b]"), HasSubstr("intersection"));
  EXPECT_THAT(error(R"([\S])"), HasSubstr("negated set"));
  EXPECT_THAT(error("[a"), HasSubstr("without an end"));
  EXPECT_THAT(error("(?<name>a)"), HasSubstr("group of another kind"));
  EXPECT_THAT(error("a{2}+"), HasSubstr("repetition"));
  EXPECT_THAT(error("(?i:a[b])"), HasSubstr("set inside (?i: )"));
  EXPECT_THAT(error(R"((?i:(\p{L})))"), HasSubstr("set inside (?i: )"));
  EXPECT_THAT(error("(?i:S(?:a|sS))"), HasSubstr("letters ss"));
  EXPECT_THAT(error("(?i:\u00e9)"), HasSubstr("outside ASCII"));
  EXPECT_THAT(error("\xFF"), HasSubstr("UTF-8"));
  EXPECT_THAT(std::string(Pattern::compile("(").status().message()), HasSubstr("byte 1"));
}

TEST(PatternTest, TextThatNeedsTooMuchBacktrackingIsAnError) {
  MatchSpace space;
  Match match;
  const std::string text(40'000'000, 'a');
  const auto found = compile("(?:a|a(?=b))+b").find(text, 0, space, &match);
  EXPECT_EQ(found.status().code(), absl::StatusCode::kResourceExhausted);
}

std::vector<std::string> split(std::string_view text, std::vector<SplitStep> steps) {
  PreTokenizer::Space space;
  std::vector<std::string_view> pieces;
  EXPECT_TRUE(PreTokenizer(std::move(steps)).split(text, space, &pieces).ok());
  return {pieces.begin(), pieces.end()};
}

std::vector<std::string> split_at_dash(SplitBehavior behavior, bool invert = false) {
  std::vector<SplitStep> steps;
  steps.push_back({.pattern = compile("-"), .behavior = behavior, .invert = invert});
  return split("the-final--countdown", std::move(steps));
}

TEST(PreTokenizerTest, MatchesBecomeWhatTheBehaviorSays) {
  EXPECT_THAT(split_at_dash(SplitBehavior::kRemoved), ElementsAre("the", "final", "countdown"));
  EXPECT_THAT(split_at_dash(SplitBehavior::kIsolated),
              ElementsAre("the", "-", "final", "-", "-", "countdown"));
  EXPECT_THAT(split_at_dash(SplitBehavior::kMergedWithPrevious),
              ElementsAre("the-", "final-", "-", "countdown"));
  EXPECT_THAT(split_at_dash(SplitBehavior::kMergedWithNext),
              ElementsAre("the", "-final", "-", "-countdown"));
  EXPECT_THAT(split_at_dash(SplitBehavior::kContiguous),
              ElementsAre("the", "-", "final", "--", "countdown"));
  EXPECT_THAT(split_at_dash(SplitBehavior::kRemoved, true), ElementsAre("-", "-", "-"));
}

TEST(PreTokenizerTest, APrefixSpaceIsPutBeforeEachPieceThatHasNone) {
  std::vector<SplitStep> steps;
  steps.push_back({.pattern = compile("1")});
  steps.push_back({.add_prefix_space = true, .pattern = compile("b")});
  EXPECT_THAT(split("ab1 c", std::move(steps)), ElementsAre(" a", "b", " 1", " c"));
}

}  // namespace
}  // namespace tessera::huggingface
