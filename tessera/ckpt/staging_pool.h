#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace tessera {

/// Host memory that device arrays are copied into, one save after another: what a save gives back
/// the next one takes, so that a save neither asks the system for memory nor waits for its pages.
/// It keeps what it ever gave out: as much as the largest number of blocks that were in use at
/// once. Safe for any thread. Blocks may outlive the pool.
class StagingPool {
 public:
  /// Makes a new block's memory ready for copies by devices; what it returns is destroyed before
  /// the memory is freed. Null where there is nothing to do.
  using Pin = std::function<std::shared_ptr<const void>(std::span<std::byte> block)>;
  explicit StagingPool(Pin pin = {});

  /// `bytes` bytes, undefined; they come back when their last owner lets go of them.
  std::shared_ptr<std::byte[]> take(size_t bytes);
  /// Of all blocks, in use or not.
  int64_t reserved_bytes() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace tessera
