#include "plugins/cpu/collectives/all_reduce.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "plugins/cpu/collectives/scratch.h"

namespace tessera::pjrt_cpu {
namespace {

constexpr size_t kWholeBytes = 256;            // at most, to everyone
constexpr size_t kWholeBytesOfTwo = 64 << 10;  // between two processes, where it costs no more

class Reducer {
 public:
  Reducer(Mesh& mesh, MemoryPool& pool, uint64_t tag, Deadline deadline, const AllReduce& array,
          size_t chunk_bytes)
      : mesh_(mesh),
        pool_(pool),
        tag_(tag),
        deadline_(deadline),
        array_(array),
        size_(bytes_of(array.element)),
        chunk_(std::max<size_t>(1, chunk_bytes / size_)) {}

  void run() {
    const size_t bytes = array_.count * size_;
    const bool small = bytes <= kWholeBytes || (mesh_.size() == 2 && bytes <= kWholeBytesOfTwo);
    small ? exchange_whole() : exchange_parts();
  }

 private:
  struct Range {
    size_t start, count;
  };
  // The elements that `rank` sums in a round.
  Range range(int rank, size_t round) const {
    const size_t n = mesh_.size();
    const size_t start = array_.count * rank / n, end = array_.count * (rank + 1) / n;
    const size_t from = std::min(end, start + round * chunk_);
    return {from, std::min(chunk_, end - from)};
  }
  size_t rounds() const {
    size_t most = 0;
    for (int rank = 0; rank < mesh_.size(); ++rank) {
      const size_t n = mesh_.size();
      most = std::max(most, array_.count * (rank + 1) / n - array_.count * rank / n);
    }
    return (most + chunk_ - 1) / chunk_;
  }
  const std::byte* in(size_t element) const {
    return static_cast<const std::byte*>(array_.in) + element * size_;
  }
  std::byte* out(size_t element) const {
    return static_cast<std::byte*>(array_.out) + element * size_;
  }

  // Arrays of all ranks, each in `others` but this rank's own, are summed into out[range].
  void sum(const std::byte* others, size_t stride, Range range) const {
    std::vector<const void*> inputs;
    for (int rank = 0; rank < mesh_.size(); ++rank) {
      inputs.push_back(rank == mesh_.rank() ? in(range.start) : others + rank * stride);
    }
    reduce(array_.element, array_.reduction, inputs, out(range.start), range.count);
  }

  void exchange_whole() {
    const size_t bytes = array_.count * size_;
    const Scratch others(pool_, bytes * mesh_.size());
    Transfers transfers(mesh_, tag_, deadline_);
    for (int peer = 0; peer < mesh_.size(); ++peer) {
      if (peer == mesh_.rank()) continue;
      transfers.receive(peer, others.data() + peer * bytes, bytes);
      transfers.send(peer, array_.in, bytes);
    }
    transfers.wait();
    sum(others.data(), bytes, {0, array_.count});
  }

  void scatter(Transfers& transfers, size_t round, std::byte* others) const {
    for (int peer = 0; peer < mesh_.size(); ++peer) {
      if (peer == mesh_.rank()) continue;
      const Range own = range(mesh_.rank(), round), theirs = range(peer, round);
      transfers.receive(peer, others + peer * chunk_ * size_, own.count * size_);
      transfers.send(peer, in(theirs.start), theirs.count * size_);
    }
  }
  void gather(Transfers& transfers, size_t round) const {
    for (int peer = 0; peer < mesh_.size(); ++peer) {
      if (peer == mesh_.rank()) continue;
      const Range own = range(mesh_.rank(), round), theirs = range(peer, round);
      transfers.receive(peer, out(theirs.start), theirs.count * size_);
      transfers.send(peer, out(own.start), own.count * size_);
    }
  }

  // In round r the parts of round r + 1 are already on their way. What is received into `out` has
  // been sent from `in` before, in case the two are one.
  void exchange_parts() {
    const size_t round_bytes = chunk_ * size_ * mesh_.size(), count = rounds();
    const Scratch others(pool_, round_bytes * std::min<size_t>(2, count));
    std::optional<Transfers> scattered[2];
    const auto start = [&](size_t round) {
      scatter(scattered[round % 2].emplace(mesh_, tag_, deadline_), round,
              others.data() + (round % 2) * round_bytes);
    };
    Transfers gathered(mesh_, tag_, deadline_);
    start(0);
    for (size_t round = 0; round < count; ++round) {
      if (round + 1 < count) start(round + 1);
      scattered[round % 2]->wait();
      sum(others.data() + (round % 2) * round_bytes, chunk_ * size_, range(mesh_.rank(), round));
      gathered.wait();  // of the round before
      gather(gathered, round);
    }
    gathered.wait();
  }

  Mesh& mesh_;
  MemoryPool& pool_;
  const uint64_t tag_;
  const Deadline deadline_;
  const AllReduce& array_;
  const size_t size_, chunk_;
};

}  // namespace

void all_reduce(Mesh& mesh, MemoryPool& pool, uint64_t tag, Deadline deadline,
                const AllReduce& array, size_t chunk_bytes) {
  Reducer(mesh, pool, tag, deadline, array, chunk_bytes).run();
}

}  // namespace tessera::pjrt_cpu
