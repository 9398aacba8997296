#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "plugins/cpu/collectives/meeting.h"
#include "plugins/cpu/collectives/mesh.h"
#include "plugins/cpu/collectives/reduce.h"
#include "plugins/cpu/pool.h"

namespace tessera::pjrt_cpu {

/// What a communicator needs of the client that it belongs to.
struct CommunicatorOptions {
  std::shared_ptr<Network> network;
  std::shared_ptr<MemoryPool> pool;  ///< for what is on its way
  KeyValues& store;                  ///< in which the processes of a communicator meet
  std::string name;                  ///< the same for all members, and for no other communicator
  int process = 0;                   ///< this one
  /// Called from a thread of the communicator's when a connection breaks.
  std::function<void(const Failure&)> broken;
  /// Called while this process waits for others to connect; throws Failure where they will not.
  std::function<void()> check_wanted;
  size_t chunk_bytes = 1 << 20;
};

/// One collective of a communicator. The tag is the same in all its devices, in all processes, and
/// no other collective of the communicator has it.
struct Operation {
  uint64_t tag = 0;
  Deadline deadline;
};

/// Devices that compute together: ranks 0 to n - 1, any number of them in each process. Every
/// device of this process calls, from a thread of its own, which is held until the collective is
/// done for all of them. What several devices of a process have to send to another process goes
/// over the network once.
///
/// All functions throw Failure: UNAVAILABLE when another process has gone or abort() was called,
/// DEADLINE_EXCEEDED, INVALID_ARGUMENT for a reduction that does not exist. After one of the first
/// two the communicator is of no more use.
class Communicator {
 public:
  /// `processes`: of each rank.
  Communicator(const CommunicatorOptions& options, std::vector<int> processes);

  int ranks() const { return static_cast<int>(processes_.size()); }

  /// out[count]: the reduction of all ranks' in[count]. `out` may be `in`.
  void all_reduce(const Operation& operation, int rank, const void* in, void* out, Element element,
                  size_t count, Reduction reduction);
  /// out[count]: part `rank` of the reduction of all ranks' in[ranks * count].
  void reduce_scatter(const Operation& operation, int rank, const void* in, void* out,
                      Element element, size_t count, Reduction reduction);
  /// out[ranks * bytes]: all ranks' in[bytes].
  void all_gather(const Operation& operation, int rank, const void* in, void* out, size_t bytes);
  /// outs[r][bytes]: ins[rank][bytes] of rank r.
  void all_to_all(const Operation& operation, int rank, const std::vector<const void*>& ins,
                  const std::vector<void*>& outs, size_t bytes);
  /// out[bytes]: `in` of rank `source`, one of whose targets is `rank`; zeros without one.
  void permute(const Operation& operation, int rank, const void* in, void* out, size_t bytes,
               std::optional<int> source, const std::vector<int>& targets);
  /// out[bytes]: `in` of the root.
  void broadcast(const Operation& operation, int rank, const void* in, void* out, size_t bytes,
                 int root);

  /// Makes whoever waits, now or later, fail with UNAVAILABLE and `reason`.
  void abort(const std::string& reason);

 private:
  bool is_own(int rank) const { return processes_[rank] == options_.process; }
  int peer_of(int rank) const { return peer_of_rank_[rank]; }
  int local_index(int rank) const { return local_index_[rank]; }
  std::shared_ptr<Meeting> meet(uint64_t tag);
  Mesh& mesh(Deadline deadline);
  void check_reduction(Element element, Reduction reduction) const;
  void arrive(Meeting& meeting, const Operation& operation, Share share,
              const std::function<void(Transfers&)>& exchange);
  void scatter_sums(const Operation& operation, const Meeting& meeting, const void* sums,
                    Element element, size_t count, Reduction reduction);

  const CommunicatorOptions options_;
  const std::vector<int> processes_;  // by rank
  std::vector<int> peers_;            // the processes, ascending: the mesh's ranks
  std::vector<int> peer_of_rank_, local_index_, own_ranks_;
  int own_peer_ = 0;

  std::mutex mutex_;
  std::optional<Failure> failure_;  // guarded by mutex_, as all below
  std::shared_ptr<Mesh> mesh_;
  std::mutex connect_mutex_;  // held while the mesh connects
  bool connected_ = false;    // guarded by connect_mutex_
  struct Expected {
    std::shared_ptr<Meeting> meeting;
    size_t came = 0;
  };
  std::map<uint64_t, Expected> meetings_;  // those that some devices have not come to
};

}  // namespace tessera::pjrt_cpu
