#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/ir/box.h"
#include "tessera/runtime/array.h"

namespace tessera {

/// An array that the host is filling, part by part, in any order and from any threads: a state that
/// is being read. Where the devices' memory is the host's the parts are that memory, and nothing is
/// copied; else they are host memory that finish() copies from.
class ArrayFill {
 public:
  /// What is to be written: dense and row-major, undefined at first.
  struct Part {
    Box box;
    std::span<std::byte> bytes;
  };

  /// Asks the transfer guard, as Array::from_shards does.
  static Result<ArrayFill> start(Runtime& runtime, Shape shape, NamedSharding sharding,
                                 TransferSite site = {});

  /// All have to be filled. In the devices' own memory replicas are parts of their own.
  std::span<const Part> parts() const { return parts_; }
  /// Host memory taken beside that of the devices.
  int64_t staging_bytes() const;
  /// Call once, when all parts are filled, from any thread.
  Result<Array> finish();

 private:
  ArrayFill(Shape shape, NamedSharding sharding)
      : shape_(std::move(shape)), sharding_(std::move(sharding)) {}
  Status make_parts(const Runtime& runtime);
  void stage_parts();

  Shape shape_;
  NamedSharding sharding_;
  Runtime* runtime_ = nullptr;
  std::vector<Runtime::LocalDevice> devices_;
  std::vector<Part> parts_;
  std::vector<Array::Piece> pieces_;  // one for each part, or none: staged_ has them
  std::vector<HostArray> staged_;
};

}  // namespace tessera
