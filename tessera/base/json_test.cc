#include "tessera/base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string error(std::string_view text) {
  return std::string(parse_json(text, "a.json").status().message());
}

TEST(ParseJson, NamesTheSourceAndThePlaceOfWhatIsNoJson) {
  EXPECT_EQ(parse_json("{\"a\": [1, 2]}", "a.json")->at("a").size(), 2u);
  EXPECT_THAT(error("{\n  \"a\": ]"), HasSubstr("a.json:2:8: not valid JSON"));
  EXPECT_THAT(error(""), HasSubstr("a.json:1:1: not valid JSON"));
}

TEST(ParseJson, ANumberThatNoDoubleHoldsIsAnErrorToo) {
  EXPECT_THAT(error("[1e999]"), AllOf(HasSubstr("a.json"), HasSubstr("number")));
  EXPECT_THAT(error("[" + std::string(400, '9') + "]"), HasSubstr("number"));
}

}  // namespace
}  // namespace tessera
