#pragma once

#include <cstdint>
#include <string_view>

namespace tessera::pjrt {

/// One field of a message in Protocol Buffers' wire format.
struct WireField {
  int number = 0;
  int type = 0;            ///< 0: varint, 1: 64 bits, 2: bytes, 5: 32 bits
  uint64_t value = 0;      ///< of types 0, 1 and 5
  std::string_view bytes;  ///< of type 2
};

/// Reads the fields of a message one after the other.
class WireReader {
 public:
  explicit WireReader(std::string_view message) : rest_(message) {}

  /// False at the end, and where the bytes are no message: then failed().
  bool next(WireField& field) {
    if (rest_.empty() || failed_) return false;
    uint64_t tag = 0;
    if (!varint(tag)) return fail();
    field = {.number = static_cast<int>(tag >> 3), .type = static_cast<int>(tag & 7)};
    switch (field.type) {
      case 0:
        return varint(field.value) || fail();
      case 1:
        return fixed(8, field.value) || fail();
      case 5:
        return fixed(4, field.value) || fail();
      case 2: {
        uint64_t size = 0;
        if (!varint(size) || size > rest_.size()) return fail();
        field.bytes = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return true;
      }
      default:
        return fail();
    }
  }
  bool failed() const { return failed_; }

  /// Calls add(value) for each number of a repeated field, packed or not.
  template <typename Add>
  static bool numbers(const WireField& field, const Add& add) {
    if (field.type == 0) {
      add(static_cast<int64_t>(field.value));
      return true;
    }
    WireReader packed(field.bytes);
    while (!packed.rest_.empty()) {
      uint64_t value = 0;
      if (!packed.varint(value)) return false;
      add(static_cast<int64_t>(value));
    }
    return true;
  }

 private:
  bool varint(uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) return false;
      const auto byte = static_cast<uint8_t>(rest_[0]);
      rest_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool fixed(size_t size, uint64_t& value) {
    if (rest_.size() < size) return false;
    value = 0;
    for (size_t i = 0; i < size; ++i)
      value |= static_cast<uint64_t>(static_cast<uint8_t>(rest_[i])) << (8 * i);
    rest_.remove_prefix(size);
    return true;
  }
  bool fail() {
    failed_ = true;
    return false;
  }

  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace tessera::pjrt
