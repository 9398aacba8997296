#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "plugins/cpu/collectives/failure.h"
#include "plugins/cpu/pool.h"

namespace tessera::pjrt_cpu {

/// Memory from the client's pool, given back when it goes away.
class Scratch {
 public:
  /// Throws Failure, RESOURCE_EXHAUSTED.
  Scratch(MemoryPool& pool, size_t bytes)
      : pool_(pool), bytes_(bytes), block_(pool.allocate(bytes, 64)) {
    if (block_.data == nullptr) {
      throw Failure(Failure::kResourceExhausted, "out of memory for a collective's " +
                                                     std::to_string(bytes) +
                                                     " bytes (create option 'memory_limit_bytes')");
    }
  }
  ~Scratch() { pool_.release(block_, bytes_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::byte* data() const { return static_cast<std::byte*>(block_.data); }

 private:
  MemoryPool& pool_;
  const size_t bytes_;
  const MemoryPool::Block block_;
};

}  // namespace tessera::pjrt_cpu
