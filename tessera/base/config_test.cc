#include "tessera/base/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tessera/base/environment.h"
#include "tessera/base/nearest.h"
#include "tessera/base/strings.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

enum class Dtype { kF32, kBf16 };

struct ModelConfig {
  int64_t layers = 6;
  int64_t heads = 8;
  int64_t kv_heads = 4;
  Dtype dtype = Dtype::kF32;
  std::optional<double> soft_cap;
  void fields(ConfigFields& f) {
    f.field("layers", layers).range(1, 1000).help("Decoder blocks.");
    f.field("heads", heads).range(1, 1024);
    f.field("kv_heads", kv_heads).range(1, 1024);
    f.choice("dtype", dtype, {{"f32", Dtype::kF32}, {"bf16", Dtype::kBf16}});
    f.field("soft_cap", soft_cap).above(0);
  }
  Status validate() const {
    if (heads % kv_heads == 0) return absl::OkStatus();
    return invalid_argument("heads ", heads, " is not a multiple of kv_heads ", kv_heads);
  }
};

struct OptimizerConfig {
  double peak = 3e-4;
  std::string name = "adamw";
  std::vector<std::string> no_decay = {"norm", "bias"};
  void fields(ConfigFields& f) {
    f.field("peak", peak).range(0, 1).help("Peak learning rate.");
    f.field("name", name).one_of({"adamw", "sgd"});
    f.field("no_decay", no_decay);
  }
};

struct Config {
  std::string run = "first";
  std::string label = "none";
  bool resume = true;
  int64_t tokens = 0;
  uint64_t seed = 0;
  int devices = -1;
  std::vector<std::string> paths;
  ModelConfig model;
  OptimizerConfig optimizer;
  ConfigNamedLists rules = {{"embed", {"fsdp"}}, {"mlp", {"tensor"}}};
  void fields(ConfigFields& f) {
    f.field("run", run).not_empty();
    f.field("label", label);
    f.field("resume", resume);
    f.field("tokens", tokens).at_least(0);
    f.field("seed", seed);
    f.field("devices", devices).range(1, 64).or_value(-1);
    f.field("paths", paths).expands_variables();
    f.section("model", model, "the network");
    f.section("optimizer", optimizer);
    f.field("rules", rules);
  }
};

Status read_into(Config& config, std::string_view yaml, std::vector<std::string> overrides = {}) {
  ConfigFields fields(config);
  ASSIGN_OR_RETURN(const ConfigNode node, parse_yaml(yaml, "recipe.yaml"));
  RETURN_IF_ERROR(fields.apply(node));
  return fields.load("", overrides);
}

std::string message(std::string_view yaml, std::vector<std::string> overrides = {}) {
  Config config;
  return std::string(from_absl(read_into(config, yaml, std::move(overrides)).message()));
}

TEST(Config, AnEmptyTextLeavesTheDefaults) {
  for (const char* text : {"", "# nothing\n", "model:\n"}) {
    Config config;
    ASSERT_TRUE(read_into(config, text).ok());
    EXPECT_EQ(ConfigFields(config).to_yaml(), [] {
      Config fresh;
      return ConfigFields(fresh).to_yaml();
    }());
  }
}

TEST(Config, ValuesOfEveryTypeAreRead) {
  Config config;
  const Status status = read_into(config, R"(
run: "a: b"
resume: false
tokens: 2M
seed: 18446744073709551615
devices: -1
model:
  layers: 12
  dtype: bf16
  soft_cap: 30
optimizer:
  peak: 3e-4
  no_decay: [norm, 'null']
rules:
  embed: [fsdp, tensor]
  vocab: []
)");
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(config.run, "a: b");
  EXPECT_FALSE(config.resume);
  EXPECT_EQ(config.tokens, 2'000'000);
  EXPECT_EQ(config.seed, 18446744073709551615u);
  EXPECT_EQ(config.devices, -1);
  EXPECT_EQ(config.model.layers, 12);
  EXPECT_EQ(config.model.dtype, Dtype::kBf16);
  EXPECT_EQ(config.model.soft_cap, 30.0);
  EXPECT_EQ(config.optimizer.peak, 3e-4);
  EXPECT_THAT(config.optimizer.no_decay, ElementsAre("norm", "null"));
  ASSERT_EQ(config.rules.size(), 3u);
  EXPECT_THAT(config.rules[0].second, ElementsAre("fsdp", "tensor"));
  EXPECT_EQ(config.rules[1].first, "mlp");
  EXPECT_EQ(config.rules[2].first, "vocab");
}

TEST(Config, IntegersTakeUnitsExponentsAndUnderscores) {
  const std::pair<const char*, int64_t> cases[] = {
      {"4k", 4000},    {"4Ki", 4096}, {"1.5M", 1'500'000},  {"1e6", 1'000'000},
      {"1_000", 1000}, {"+7", 7},     {"3G", 3'000'000'000}};
  for (const auto& [text, value] : cases) {
    Config config;
    ASSERT_TRUE(read_into(config, "", {str_cat("tokens=", text)}).ok()) << text;
    EXPECT_EQ(config.tokens, value) << text;
  }
  for (const char* text :
       {"1.5", "4kk", "k", "_1", "1__0_", "1e400", "9223372036854775808", "0x10", "", "1 2"}) {
    Config config;
    EXPECT_FALSE(read_into(config, "", {str_cat("tokens=", text)}).ok()) << text;
    EXPECT_EQ(config.tokens, 0);
  }
}

TEST(Config, OverridesWinOverTheRecipeAndTheLastOneWins) {
  Config config;
  ASSERT_TRUE(read_into(config, "model: {layers: 3}", {"model.layers=4", "model.layers=5"}).ok());
  EXPECT_EQ(config.model.layers, 5);
}

TEST(Config, AnOverrideOfAStringIsTakenAsTyped) {
  Config config;
  ASSERT_TRUE(read_into(config, "", {"run=x: [y # {z=1"}).ok());
  EXPECT_EQ(config.run, "x: [y # {z=1");
}

TEST(Config, AnOverrideOfAStringMayBeEmptyOrTheWordNull) {
  Config config;
  ASSERT_TRUE(read_into(config, "", {"run=null", "label=x", "label="}).ok());
  EXPECT_EQ(config.run, "null");
  EXPECT_EQ(config.label, "");
  EXPECT_THAT(message("", {"tokens="}), HasSubstr("tokens is nothing: an integer"));
}

TEST(Config, AnOverrideMayReachIntoATableOrGiveAWholeSection) {
  Config config;
  ASSERT_TRUE(read_into(config, "", {"rules.mlp=[fsdp]", "model={layers: 2, heads: 4}"}).ok());
  EXPECT_THAT(config.rules[1].second, ElementsAre("fsdp"));
  EXPECT_EQ(config.model.layers, 2);
  EXPECT_EQ(config.model.heads, 4);
}

TEST(Config, AnUnknownKeyNamesFileLineAndTheNearestKey) {
  EXPECT_EQ(message("run: a\nmodel:\n  layer: 3\n"),
            "recipe.yaml:3: there is no key model.layer; the nearest is model.layers");
  EXPECT_EQ(message("modle:\n  layers: 3\n"),
            "recipe.yaml:2: there is no key modle; the nearest is model");
  EXPECT_EQ(message("", {"optimizer.paek=1"}),
            "command line: there is no key optimizer.paek; the nearest is optimizer.peak");
  EXPECT_EQ(message("", {"modle.layesr=3"}),
            "command line: there is no key modle.layesr; the nearest is model.layers");
}

TEST(Config, AKnownKeyInTheWrongSectionIsFound) {
  EXPECT_EQ(message("", {"layers=3"}),
            "command line: there is no key layers; the nearest is model.layers");
}

TEST(Config, AnUnknownKeyLikeNoOtherListsWhatThereIs) {
  EXPECT_EQ(
      message("optimizer: {zzzzzzzz: 1}"),
      "recipe.yaml:1: there is no key optimizer.zzzzzzzz; optimizer has peak, name, no_decay");
}

TEST(Config, AWrongTypeNamesWhatWasGotAndWhatIsRequired) {
  EXPECT_EQ(message("model:\n  layers: four\n"),
            "recipe.yaml:2: model.layers is \"four\": an integer from 1 to 1000 is required");
  EXPECT_THAT(message("model:\n  layers: [1, 2]\n"),
              HasSubstr("model.layers is [\"1\", \"2\"]: an integer"));
  EXPECT_THAT(message("model: {layers: '4'}"), HasSubstr("model.layers is \"4\""));
  EXPECT_THAT(message("model: {layers: }"), HasSubstr("model.layers is nothing: an integer"));
  EXPECT_THAT(message("model: 3"),
              HasSubstr("model is \"3\": a section of key: value is required"));
  EXPECT_THAT(message("resume: yes"), HasSubstr("resume is \"yes\": true or false is required"));
  EXPECT_THAT(message("run: {a: 1}"),
              HasSubstr("run is a section: a string, not empty is required"));
  EXPECT_THAT(message("optimizer: {no_decay: norm}"), HasSubstr("a list of strings is required"));
  EXPECT_THAT(message("optimizer: {peak: .nan}"), HasSubstr("a number from 0 to 1 is required"));
  EXPECT_THAT(message("optimizer: {peak: nan}"), HasSubstr("a number from 0 to 1 is required"));
  EXPECT_THAT(message("rules: fsdp"),
              HasSubstr("a section of name: [names], or of name: [[names], [names]] is required"));
  EXPECT_THAT(message("rules: {embed: [[fsdp], data]}"), HasSubstr("is required"));
  EXPECT_THAT(message("- 1"), HasSubstr("the config is a list"));
}

TEST(Config, AWrongListInATableNamesItsEntry) {
  EXPECT_EQ(
      message("rules:\n  mlp: a\n  embed: [[a], b]"),
      "recipe.yaml:3: rules.embed is [a list, \"b\"]: a list of names, such as [fsdp, tensor], "
      "or several, such as [[fsdp, tensor], [fsdp]], is required");
  EXPECT_EQ(message("rules: {embed: fsdp}"), "");
}

TEST(Config, AnOutOfRangeValueNamesTheRange) {
  EXPECT_EQ(message("model:\n  layers: 0\n"),
            "recipe.yaml:2: model.layers is \"0\": an integer from 1 to 1000 is required");
  EXPECT_THAT(message("devices: 0"), HasSubstr("an integer from 1 to 64, or -1 is required"));
  EXPECT_THAT(message("tokens: -1"), HasSubstr("an integer of at least 0 is required"));
  EXPECT_THAT(message("seed: -1"), HasSubstr("an integer is required"));
  EXPECT_THAT(message("model: {soft_cap: 0}"), HasSubstr("a number or null above 0 is required"));
  EXPECT_THAT(message("run: ''"), HasSubstr("not empty is required"));
}

TEST(Config, AWrongNameNamesTheNearest) {
  EXPECT_EQ(
      message("model: {dtype: fp32}"),
      "recipe.yaml:1: model.dtype is \"fp32\": one of f32, bf16 is required; the nearest is f32");
  EXPECT_THAT(message("optimizer: {name: adamv}"),
              HasSubstr("one of adamw, sgd is required; the nearest is adamw"));
}

TEST(Config, AKeyGivenTwiceIsAnError) {
  EXPECT_EQ(message("model:\n  layers: 3\n  layers: 4\n"),
            "recipe.yaml:3: the key layers is given twice in one section: remove one");
}

TEST(Config, TextThatIsNotYamlNamesItsPlace) {
  EXPECT_THAT(message("run: a\nmodel: [1,\n"), HasSubstr("recipe.yaml:3:1: not valid YAML: "));
  EXPECT_THAT(message("run: a\n---\nrun: b\n"), HasSubstr("a second document starts here"));
  EXPECT_THAT(message("? [a, b]\n: 1\n"), HasSubstr("a key is a list"));
}

TEST(Config, AliasesAreCopiesAndAnAliasBombIsAnError) {
  Config config;
  ASSERT_TRUE(read_into(config, "rules: {a: &x [fsdp], b: *x}").ok());
  EXPECT_THAT(config.rules[3].second, ElementsAre("fsdp"));
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    bomb += str_cat("a", i, ": &a", i, " [");
    for (int j = 0; j < 10; ++j) bomb += str_cat(j ? ", " : "", "*a", i - 1);
    bomb += "]\n";
  }
  EXPECT_THAT(message(bomb), HasSubstr("too many values"));
}

TEST(Config, AnOverrideWithoutAnEqualsSignOrKeyIsAnError) {
  EXPECT_THAT(message("", {"model.layers"}), HasSubstr("section.key=value is required"));
  EXPECT_THAT(message("", {"=3"}), HasSubstr("section.key=value is required"));
  EXPECT_THAT(message("", {"model..layers=3"}), HasSubstr("has an empty part"));
}

TEST(Config, ACrossFieldErrorSaysWhereItsKeysWereSet) {
  EXPECT_EQ(message("model:\n  heads: 6\n"),
            "model: heads 6 is not a multiple of kv_heads 4 (heads: recipe.yaml:2)");
  EXPECT_EQ(message("model:\n  heads: 6\n", {"model.kv_heads=5"}),
            "model: heads 6 is not a multiple of kv_heads 5 (heads: recipe.yaml:2, kv_heads: "
            "command line)");
}

TEST(Config, TheResolvedConfigReadsBackAsTheSameFromYamlAndJson) {
  Config config;
  ASSERT_TRUE(
      read_into(config,
                "run: 'null'\nseed: 18446744073709551615\nmodel: {soft_cap: 0.1, dtype: bf16}\n"
                "optimizer: {peak: 0.1234567890123456, no_decay: ['yes', 'a\"b\\c', '- x', "
                "'1', \"\\n\"]}\n"
                "rules: {vocab: [], 'odd: name': [x], embed: [[a, b], [c]]}")
          .ok());
  const std::string yaml = ConfigFields(config).to_yaml();
  const std::string json = ConfigFields(config).to_json().dump();
  for (const std::string& text : {yaml, json, ConfigFields(config).to_yaml_with_origins()}) {
    Config again;
    const Status status = read_into(again, text);
    ASSERT_TRUE(status.ok()) << status << "\n" << text;
    EXPECT_EQ(ConfigFields(again).to_yaml(), yaml);
    EXPECT_EQ(again.optimizer.peak, config.optimizer.peak);
    EXPECT_EQ(again.optimizer.no_decay, config.optimizer.no_decay);
    EXPECT_EQ(again.rules, config.rules);
  }
}

TEST(Config, TheResolvedTextSaysWhereEachValueCameFrom) {
  Config config;
  ConfigFields fields(config);
  ASSERT_TRUE(fields.apply(*parse_yaml("model:\n  layers: 3\n", "r.yaml")).ok());
  ASSERT_TRUE(fields.apply(*parse_override("model.heads=4")).ok());
  const std::string text = fields.to_yaml_with_origins();
  EXPECT_THAT(text, HasSubstr("  layers: 3  # r.yaml:2\n"));
  EXPECT_THAT(text, HasSubstr("  heads: 4  # command line\n"));
  EXPECT_THAT(text, HasSubstr("  kv_heads: 4\n"));
}

TEST(Config, HelpNamesEveryKeyWithItsDefaultAndRequirement) {
  Config config;
  ConfigFields fields(config);
  const std::string help = fields.help();
  for (const std::string& path : fields.paths()) EXPECT_THAT(help, HasSubstr(path));
  EXPECT_THAT(help, HasSubstr("model: the network\n"));
  EXPECT_THAT(help,
              HasSubstr("  model.layers = 6\n      Decoder blocks. (an integer from 1 to 1000)\n"));
}

TEST(Config, HelpIsNoWiderThanAScreen) {
  Config config;
  ConfigFields fields(config);
  std::string words;
  for (int i = 0; i < 40; ++i) words += "longer ";
  fields.field("told_at_length", config.label).help(words);
  std::istringstream help(fields.help());
  size_t widest = 0;
  for (std::string line; std::getline(help, line);) widest = std::max(widest, line.size());
  EXPECT_LE(widest, 100u);
  EXPECT_GE(widest, 90u);
}

TEST(Config, AMissingRecipeIsNamed) {
  Config config;
  const Status status = load_config(config, "/nowhere/recipe.yaml", {});
  EXPECT_THAT(std::string(from_absl(status.message())),
              HasSubstr("/nowhere/recipe.yaml: cannot be opened: No such file"));
  EXPECT_THAT(std::string(from_absl(load_config(config, "/tmp", {}).message())),
              HasSubstr("/tmp: cannot be read"));
}

TEST(Config, AFailedValueLeavesTheFieldAsItWas) {
  Config config;
  EXPECT_FALSE(read_into(config, "optimizer: {no_decay: [a, [b]]}").ok());
  EXPECT_THAT(config.optimizer.no_decay, ElementsAre("norm", "bias"));
}

TEST(Config, VariablesAreExpandedWhereAFieldSaysSo) {
  setenv("TESSERA_CACHE", "/cache", 1);
  setenv("CONFIG_TEST", "x", 1);
  Config config;
  ASSERT_TRUE(
      read_into(config, "run: ${CONFIG_TEST}\npaths: ['${TESSERA_CACHE}/a${CONFIG_TEST}', $HOME]")
          .ok());
  EXPECT_THAT(config.paths, ElementsAre("/cache/ax", "$HOME"));
  EXPECT_EQ(config.run, "${CONFIG_TEST}");
  EXPECT_EQ(message("paths: ['${CONFIG_TEST_UNSET}']"),
            "recipe.yaml:1: paths: the environment variable CONFIG_TEST_UNSET is not set");
  EXPECT_THAT(message("paths: ['${CONFIG']"), HasSubstr("has a ${ without its }"));
}

TEST(Environment, TheCacheIsInTheHomeFolderUnlessItIsNamed) {
  setenv("HOME", "/home-folder", 1);
  unsetenv("TESSERA_CACHE");
  EXPECT_EQ(*expand_variables("${TESSERA_CACHE}/c"), "/home-folder/.cache/tessera/c");
  unsetenv("HOME");
  EXPECT_FALSE(cache_folder().ok());
}

TEST(Nearest, ASwapOfNeighboursIsOneEdit) {
  EXPECT_EQ(edit_distance("paek", "peak"), 1u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(Nearest, NothingIsNearToAnUnrelatedWord) {
  const std::vector<std::string> words = {"train", "generate"};
  EXPECT_EQ(nearest("trian", words), "train");
  EXPECT_EQ(nearest("doctor", words), "");
}

}  // namespace
}  // namespace tessera
