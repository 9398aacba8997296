#include "tessera/pjrt/compile_options.h"

#include <bit>
#include <cstring>
#include <string_view>

namespace tessera::pjrt {
namespace {

/// Writes the wire format of protocol buffers: the few fields needed do not pay for a dependency on
/// protobuf.
class ProtoWriter {
 public:
  void add_varint(int field, uint64_t value) {
    tag(field, 0);
    varint(value);
  }
  void add_double(int field, double value) {
    tag(field, 1);
    for (uint64_t bits = std::bit_cast<uint64_t>(value), i = 0; i < 8; ++i, bits >>= 8) {
      bytes_.push_back(static_cast<char>(bits & 0xff));
    }
  }
  void add_bytes(int field, std::string_view value) {
    tag(field, 2);
    varint(value.size());
    bytes_.append(value);
  }
  /// Repeated integers are packed.
  void add_packed(int field, const std::vector<int64_t>& values) {
    ProtoWriter packed;
    for (int64_t value : values) packed.varint(static_cast<uint64_t>(value));
    add_bytes(field, packed.bytes_);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void tag(int field, int wire_type) { varint(static_cast<uint64_t>(field) << 3 | wire_type); }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }

  std::string bytes_;
};

/// xla.DeviceAssignmentProto: one replica, a computation for each partition.
std::string device_assignment(const std::vector<int64_t>& device_ids) {
  ProtoWriter assignment;
  assignment.add_varint(1, 1);                  // replica_count
  assignment.add_varint(2, device_ids.size());  // computation_count
  for (int64_t id : device_ids) {
    ProtoWriter computation;
    computation.add_packed(1, {id});               // replica_device_ids
    assignment.add_bytes(3, computation.bytes());  // computation_devices
  }
  return assignment.bytes();
}

/// xla.ExecutableBuildOptionsProto.
std::string build_options(const CompileOptions& options) {
  ProtoWriter build;
  build.add_varint(1, static_cast<uint64_t>(int64_t{-1}));    // device_ordinal: by the assignment
  build.add_varint(4, 1);                                     // num_replicas
  build.add_varint(5, options.device_ids.size());             // num_partitions
  build.add_varint(6, options.device_ids.size() > 1);         // use_spmd_partitioning
  build.add_bytes(9, device_assignment(options.device_ids));  // device_assignment
  build.add_packed(12, {options.choose_result_shardings});    // ...propagation_to_output
  build.add_varint(19, options.use_shardy);                   // use_shardy_partitioner
  return build.bytes();
}

/// xla.OptionOverrideProto, whose fields are one of string, bool, int64, double in this order.
std::string override_value(const CompileOptions::Override& override) {
  ProtoWriter value;
  if (const auto* text = std::get_if<std::string>(&override.value)) {
    value.add_bytes(1, *text);
  } else if (const auto* flag = std::get_if<bool>(&override.value)) {
    value.add_varint(2, *flag);
  } else if (const auto* integer = std::get_if<int64_t>(&override.value)) {
    value.add_varint(3, static_cast<uint64_t>(*integer));
  } else {
    value.add_double(4, std::get<double>(override.value));
  }
  return value.bytes();
}

}  // namespace

std::string encode(const CompileOptions& options) {
  ProtoWriter proto;
  proto.add_bytes(3, build_options(options));  // executable_build_options
  for (const CompileOptions::Override& override : options.overrides) {
    ProtoWriter entry;  // a map's entry: key 1, value 2
    entry.add_bytes(1, override.name);
    entry.add_bytes(2, override_value(override));
    proto.add_bytes(7, entry.bytes());  // env_option_overrides
  }
  return proto.bytes();
}

}  // namespace tessera::pjrt
