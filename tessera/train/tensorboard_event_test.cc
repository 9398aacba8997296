#include "tessera/train/tensorboard_event.h"

#include <gtest/gtest.h>

#include "absl/strings/escaping.h"
#include "tessera/base/strings.h"

namespace tessera {
namespace {

std::string hex(const std::string& bytes) { return absl::BytesToHexString(bytes); }

// The bytes were written down field by field from the wire format's definition, not taken from this
// code; that other people's readers take whole files is shown in tests/train.
TEST(TensorBoardEvent, TheVersionEventIsTimeAndText) {
  EXPECT_EQ(hex(version_event(1.0)),
            "09000000000000f03f"
            "1a0d"
            "627261696e2e4576656e743a32");
}

TEST(TensorBoardEvent, TheStartEventHasItsStepAndStatus) {
  EXPECT_EQ(hex(start_event(1.0, 300)),
            "09000000000000f03f"
            "10ac02"
            "3a020801");
}

TEST(TensorBoardEvent, AScalarIsATagAndAFloat) {
  ScalarEvent event(1.0, 1);
  event.add("a", 1.0);
  event.add("b", -2.0);
  EXPECT_EQ(hex(event.finish()),
            "09000000000000f03f"
            "1001"
            "2a14"
            "0a080a0161150000803f"
            "0a080a016215000000c0");
}

TEST(TensorBoardEvent, ARecordFramesItsBytesWithLengthsAndMaskedChecksums) {
  const std::string record = tfrecord("abc");
  ASSERT_EQ(record.size(), 8u + 4 + 3 + 4);
  EXPECT_EQ(hex(record.substr(0, 8)), "0300000000000000");
  EXPECT_EQ(record.substr(12, 3), "abc");
  // crc32c("abc") = 0x364b3fb7; rotated right by 15: 0x7f6e6c96; plus 0xa282ead8: 0x21f1576e.
  EXPECT_EQ(hex(record.substr(15)), "6e57f121");
}

}  // namespace
}  // namespace tessera
