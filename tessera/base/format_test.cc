#include "tessera/base/format.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Format, CountsHaveCommas) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999.4), "999");
  EXPECT_EQ(count_text(1000), "1,000");
  EXPECT_EQ(count_text(-1234567), "-1,234,567");
  EXPECT_EQ(count_text(-123), "-123");
}

TEST(Format, BytesHaveThreeDigitsAndABinaryUnit) {
  EXPECT_EQ(bytes_text(0), "0 bytes");
  EXPECT_EQ(bytes_text(1023), "1023 bytes");
  EXPECT_EQ(bytes_text(1024), "1.00 KiB");
  EXPECT_EQ(bytes_text(1536), "1.50 KiB");
  EXPECT_EQ(bytes_text(1000.0 * 1024 * 1024), "0.98 GiB");
  EXPECT_EQ(bytes_text(24.0 * 1024 * 1024 * 1024), "24.0 GiB");
  EXPECT_EQ(bytes_text(999.0 * 1024), "999 KiB");
}

TEST(Format, TextIsWrappedAtSpacesAndKeepsItsParagraphs) {
  EXPECT_EQ(wrapped("one two three\n\nfour", 7), "one two\nthree\n\nfour");
  EXPECT_EQ(wrapped("incompressible a", 5), "incompressible\na");
  EXPECT_EQ(wrapped("", 5), "");
}

TEST(Format, ATableAlignsItsColumnsByCharacters) {
  TextTable table({false, true, false});
  table.add({"nämé", "1", "x"});
  table.add({"a", "1,000", ""});
  EXPECT_EQ(table.text(2), "  nämé      1  x\n  a     1,000\n");
}

}  // namespace
}  // namespace tessera
