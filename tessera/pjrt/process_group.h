#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "tessera/base/key_value_store.h"

namespace tessera::pjrt {

/// This process among those that make one client together.
struct ProcessGroup {
  int process = 0;
  int processes = 1;
  /// What they meet through; needed for more than one process, and kept as long as the client.
  std::shared_ptr<KeyValueStore> key_values;
  /// Whether no other client meets through these key-values. Processes may then have made different
  /// numbers of clients before.
  bool own_key_values = false;
  /// The slice of the cluster that this process is in: given by all processes, or by none.
  std::optional<int64_t> slice;
};

/// What became of a process of the group.
struct ProcessState {
  int process = 0;
  /// Of its present start; another number than before says that it was started again.
  uint64_t incarnation = 0;
  /// Not so of one that died. One that left in order, having done its part, need not be told of:
  /// the others may still be at theirs.
  bool alive = true;
};

}  // namespace tessera::pjrt
