#include "tessera/pjrt/compile_options.h"

#include <gtest/gtest.h>

namespace tessera::pjrt {
namespace {

std::string hex(const std::string& bytes) {
  std::string text;
  for (unsigned char byte : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text;
}

// Worked out by hand from the wire format of protocol buffers.
TEST(CompileOptions, EncodesToTheWireFormat) {
  EXPECT_EQ(hex(encode({.device_ids = {0, 300}})),
            "1a28"                    // executable_build_options, 40 bytes
            "08ffffffffffffffffff01"  // device_ordinal -1
            "2001"                    // num_replicas 1
            "2802"                    // num_partitions 2
            "3001"                    // use_spmd_partitioning
            "4a0f"                    // device_assignment, 15 bytes
            "08011002"                // 1 replica, 2 computations
            "1a030a0100"              // device 0: a packed list of 1 byte
            "1a040a02ac02"            // device 300: a packed list of 2 bytes
            "620100"                  // allow_spmd_sharding_propagation_to_output {false}
            "980101");                // use_shardy_partitioner
}

TEST(CompileOptions, EncodesOverridesOfEveryType) {
  const std::string with = hex(encode(
      {.overrides = {{"s", std::string("x")}, {"b", true}, {"i", int64_t{-1}}, {"d", 1.0}}}));
  const std::string without = hex(encode({}));
  ASSERT_EQ(with.substr(0, without.size()), without);
  EXPECT_EQ(with.substr(without.size()),
            "3a08"
            "0a0173"
            "12030a0178"
            "3a07"
            "0a0162"
            "12021001"
            "3a10"
            "0a0169"
            "120b18ffffffffffffffffff01"
            "3a0e"
            "0a0164"
            "120921000000000000f03f");
}

}  // namespace
}  // namespace tessera::pjrt
