#include "tessera/pjrt/hlo_module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tessera::pjrt {
namespace {

using ::testing::ElementsAre;

// Protocol Buffers' wire format, by hand.
std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}
std::string number(int field, uint64_t value) { return varint(field << 3) + varint(value); }
std::string text(int field, const std::string& bytes) {
  return varint(field << 3 | 2) + varint(bytes.size()) + bytes;
}
std::string packed(int field, std::initializer_list<uint64_t> values) {
  std::string bytes;
  for (uint64_t value : values) bytes += varint(value);
  return text(field, bytes);
}

constexpr int kF32 = 11, kBf16 = 16;
std::string shape(int type, std::initializer_list<uint64_t> dims) {
  return number(2, type) + packed(3, dims);
}
std::string instruction(int id, const std::string& opcode, const std::string& the_shape,
                        const std::string& more = "") {
  return text(2, text(1, opcode + "." + std::to_string(id)) + text(2, opcode) + text(3, the_shape) +
                     number(35, id) + more);
}
std::string computation(int id, const std::string& instructions) {
  return text(3, text(1, "c" + std::to_string(id)) + instructions + number(5, id));
}

HloModule parsed(const std::string& module) {
  const auto result = HloModule::parse("hlo", module);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *result : HloModule{};
}

// A loop of 48 around a product of [8,16] and [16,4].
std::string looping_module() {
  const std::string body = computation(
      1,
      instruction(1, "parameter", shape(kF32, {8, 16})) +
          instruction(2, "parameter", shape(kF32, {16, 4})) +
          instruction(3, "dot", shape(kF32, {8, 4}), packed(36, {1, 2}) + text(30, number(1, 1))));
  const std::string condition = computation(2, instruction(4, "parameter", shape(kF32, {})));
  const std::string entry = computation(
      3,
      instruction(5, "while", shape(kF32, {8, 4}),
                  packed(38, {1, 2}) + text(43, R"({"known_trip_count":{"n":"48"},"other":1})")));
  return text(1, "main") + body + condition + entry + number(6, 3);
}

TEST(HloModule, ALoopCountsItsBodyAsOftenAsItRuns) {
  EXPECT_EQ(parsed(looping_module()).dot_flops(), 48.0 * 2 * 8 * 4 * 16);
}

TEST(HloModule, ShapesKnowTheirBytes) {
  const HloModule module =
      parsed(computation(1, instruction(1, "parameter", shape(kBf16, {3, 5})) +
                                instruction(2, "tuple",
                                            number(2, 13) + text(4, shape(kF32, {2})) +
                                                text(4, shape(kBf16, {4})))) +
             number(6, 1));
  const auto& instructions = module.computations.at(1).instructions;
  EXPECT_EQ(instructions[0].shape.bytes(), 30);
  EXPECT_EQ(instructions[1].shape.bytes(), 16);
}

TEST(HloModule, GroupsAreReadInEachOfTheirForms) {
  const std::string listed = text(49, packed(1, {0, 2})) + text(49, packed(1, {1, 3}));
  const std::string in_list = text(87, text(1, packed(1, {0, 2})) + text(1, packed(1, {1, 3})));
  // 0 ... 3 as [2,2], transposed, in rows of two.
  const std::string recipe = number(1, 2) + number(2, 2) + packed(3, {2, 2}) + packed(4, {1, 0});
  for (const std::string& groups : {listed, in_list, text(87, text(2, recipe)), text(92, recipe)}) {
    const HloModule module = parsed(
        computation(1, instruction(1, "all-gather", shape(kF32, {4}), groups)) + number(6, 1));
    EXPECT_THAT(module.computations.at(1).instructions[0].groups,
                ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3)));
  }
}

TEST(HloModule, PairsOfAPermuteAreRead) {
  const HloModule module =
      parsed(computation(1, instruction(1, "collective-permute", shape(kF32, {4}),
                                        text(52, number(2, 1)) + text(52, number(1, 1)))) +
             number(6, 1));
  EXPECT_THAT(module.computations.at(1).instructions[0].source_target_pairs,
              ElementsAre(std::pair(0, 1), std::pair(1, 0)));
}

TEST(HloModule, WhatIsWrappedWithAConfigIsRead) {
  EXPECT_TRUE(HloModule::parse("hlo_with_config", text(1, looping_module())).ok());
}

TEST(HloModule, AnotherFormatIsNamed) {
  EXPECT_THAT(std::string(HloModule::parse("mlir", "module {}").status().message()),
              ::testing::HasSubstr("'mlir'"));
}

TEST(HloModule, BytesThatAreCutShortOrWrongAreAnErrorAndNoCrash) {
  const std::string whole = looping_module();
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(HloModule::parse("hlo", whole.substr(0, size)).ok()) << size;
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
    if (const auto module = HloModule::parse("hlo", damaged); module.ok()) module->dot_flops();
  }
}

}  // namespace
}  // namespace tessera::pjrt
