#include "tessera/data/utf8.h"

#include <gtest/gtest.h>

#include <random>

namespace tessera {
namespace {

const std::string kReplacement = "\xEF\xBF\xBD";

std::string repaired(std::string text, int64_t expected_count) {
  EXPECT_EQ(replace_invalid_utf8(&text), expected_count);
  return text;
}

TEST(Utf8Test, LeavesValidTextAlone) {
  for (const std::string text :
       {"", "plain ASCII, longer than a word", "é", "€", "\xF0\x9F\x98\x80", "\xED\x9F\xBF",
        "\xEE\x80\x80", "\xF4\x8F\xBF\xBF", "12345678é12345678"}) {
    EXPECT_EQ(repaired(text, 0), text);
  }
}

TEST(Utf8Test, ReplacesEachLongestStartOfACharacterOnce) {
  const std::string& r = kReplacement;
  EXPECT_EQ(repaired("a\xFFz", 1), "a" + r + "z");
  EXPECT_EQ(repaired("a\xE2\x82z", 1), "a" + r + "z") << "a cut character is one error";
  EXPECT_EQ(repaired("\xE2\x82", 1), r) << "at the end too";
  EXPECT_EQ(repaired("\x80\x80", 2), r + r) << "bytes that begin nothing count one by one";
  EXPECT_EQ(repaired("\xC0\xAF", 2), r + r) << "an overlong form";
  EXPECT_EQ(repaired("\xE0\x80\x80", 3), r + r + r) << "an overlong form";
  EXPECT_EQ(repaired("\xED\xA0\x80", 3), r + r + r) << "a surrogate";
  EXPECT_EQ(repaired("\xF4\x90\x80\x80", 4), r + r + r + r) << "above U+10FFFF";
  EXPECT_EQ(repaired("\xF0\x9F\x98"
                     "A",
                     1),
            r + "A");
}

TEST(Utf8Test, WhatItReturnsIsValidAndKeepsValidParts) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string text = "Grüße";
    for (int j = 0; j < 30; ++j) text.push_back(static_cast<char>(random()));
    replace_invalid_utf8(&text);
    EXPECT_TRUE(text.starts_with("Grüße"));
    EXPECT_EQ(replace_invalid_utf8(&text), 0) << "repairing twice finds nothing";
  }
}

}  // namespace
}  // namespace tessera
