#include "tessera/train/tensorboard_event.h"

#include <bit>
#include <span>

#include "tessera/base/crc32c.h"

namespace tessera {
namespace {

enum class Wire : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

template <typename T>
void put_little_endian(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7f) | 0x80);
  out += static_cast<char>(value);
}

void put_key(std::string& out, uint32_t field, Wire wire) {
  put_varint(out, field << 3 | static_cast<uint32_t>(wire));
}

void put_double(std::string& out, uint32_t field, double value) {
  put_key(out, field, Wire::kFixed64);
  put_little_endian(out, std::bit_cast<uint64_t>(value));
}

void put_float(std::string& out, uint32_t field, float value) {
  put_key(out, field, Wire::kFixed32);
  put_little_endian(out, std::bit_cast<uint32_t>(value));
}

void put_int(std::string& out, uint32_t field, int64_t value) {
  put_key(out, field, Wire::kVarint);
  put_varint(out, static_cast<uint64_t>(value));
}

void put_bytes(std::string& out, uint32_t field, std::string_view bytes) {
  put_key(out, field, Wire::kBytes);
  put_varint(out, bytes.size());
  out += bytes;
}

uint32_t masked_crc(std::string_view bytes) {
  return std::rotr(crc32c(std::as_bytes(std::span(bytes))), 15) + 0xa282ead8u;
}

}  // namespace

std::string tfrecord(std::string_view data) {
  std::string record;
  put_little_endian(record, static_cast<uint64_t>(data.size()));
  put_little_endian(record, masked_crc(record));
  record += data;
  put_little_endian(record, masked_crc(data));
  return record;
}

std::string version_event(double wall_time) {
  std::string event;
  put_double(event, 1, wall_time);
  put_bytes(event, 3, "brain.Event:2");
  return event;
}

std::string start_event(double wall_time, int64_t step) {
  std::string session_log;
  put_int(session_log, 1, 1);
  std::string event;
  put_double(event, 1, wall_time);
  put_int(event, 2, step);
  put_bytes(event, 7, session_log);
  return event;
}

void ScalarEvent::add(std::string_view tag, double value) {
  std::string scalar;
  put_bytes(scalar, 1, tag);
  put_float(scalar, 2, static_cast<float>(value));
  put_bytes(summary_, 1, scalar);
}

std::string ScalarEvent::finish() const {
  std::string event;
  put_double(event, 1, wall_time_);
  put_int(event, 2, step_);
  put_bytes(event, 5, summary_);
  return event;
}

}  // namespace tessera
