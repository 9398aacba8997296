#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

// The two formats that a TensorBoard event file is made of: TFRecord framing around `Event`
// messages of protocol buffers. Both are written by hand here, since the messages have seven fields
// in all.
//
//   record   u64 length | u32 mask(crc32c(length's 8 bytes)) | data | u32 mask(crc32c(data)) all
//   little-endian mask(c)  rotate c right by 15 bits, add 0xa282ead8, modulo 2^32 Event    1:
//   double wall_time, 2: int64 step, 3: string file_version, 5: Summary, 7: SessionLog Summary  1:
//   repeated Value { 1: string tag, 2: float simple_value } SessionLog  1: enum status (1 = START)

/// One record around `data`.
std::string tfrecord(std::string_view data);

/// The first event of a file: which version of the format it has.
std::string version_event(double wall_time);

/// Tells readers that a run (re)starts here: what older files hold from `step` on is void.
std::string start_event(double wall_time, int64_t step);

/// Builds an event with any number of scalars.
class ScalarEvent {
 public:
  ScalarEvent(double wall_time, int64_t step) : wall_time_(wall_time), step_(step) {}
  void add(std::string_view tag, double value);
  std::string finish() const;

 private:
  double wall_time_;
  int64_t step_;
  std::string summary_;
};

}  // namespace tessera
