#pragma once

#include "plugins/cpu/collectives/mesh.h"
#include "plugins/cpu/collectives/reduce.h"
#include "plugins/cpu/pool.h"

namespace tessera::pjrt_cpu {

/// An array that is reduced over the processes of a mesh. `out` may be `in`.
struct AllReduce {
  Element element = Element::kF32;
  Reduction reduction = Reduction::kSum;
  const void* in = nullptr;
  void* out = nullptr;
  size_t count = 0;  ///< elements
};

/// Reduces in the order of the mesh's ranks, so all get the same bits. Each of n processes sums a
/// part of 1/n, for which the others send theirs, and sends the sum to them: 2 (n - 1)/n of the
/// array's bytes are sent by each, in two message times whatever n is, and each sum is rounded
/// once. (A ring sends as much in 2 (n - 1) message times, rounding n - 1 times.) Small arrays, and
/// arrays of two processes that are not large, go whole to everyone: one message time.
///
/// Large arrays go in rounds of `chunk_bytes` a part, so that the network and the sums overlap.
void all_reduce(Mesh& mesh, MemoryPool& pool, uint64_t tag, Deadline deadline,
                const AllReduce& array, size_t chunk_bytes);

}  // namespace tessera::pjrt_cpu
