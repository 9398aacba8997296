#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "tessera/base/key_value_store.h"
#include "tessera/base/status.h"
#include "tessera/base/thread.h"
#include "tessera/sharding/mesh.h"

namespace tessera {

struct LaunchRecord;

struct LaunchOrderOptions {
  int process = 0;
  int processes = 1;
  /// What they meet through, which must outlive stop().
  std::shared_ptr<KeyValueStore> key_values;
  /// Stands before all keys; the same in all processes, and another one for each checker of one.
  std::string name = "launch_order/";
  /// Between two looks at the others; at least `processes` x 10 ms, so that the store is asked no
  /// more than a thousand times a second by all together.
  absl::Duration interval = absl::Milliseconds(500);
  /// After so long a process that has not launched what this one has is named in a warning.
  absl::Duration behind_after = absl::Seconds(60);
  /// Called once, from a thread of the checker's, when processes have diverged: makes what waits
  /// for other processes fail.
  std::function<void()> abort = [] {};
};

/// Checks that all processes launch the programs that span them in the same order. Where they do
/// not, their collectives would wait for each other for ever, or mix.
///
/// Each launch has a number among those of the same set of processes, and a digest of what was
/// launched up to it: names, texts and meshes. A thread publishes the newest ones while there is
/// news, and compares them with what the others published (with more than eight others, with some
/// of them in turn). At the first difference a verdict, which names both operations, is written
/// down for all; each process takes it as its failure, aborts what waits, and launches nothing
/// more.
///
/// A process that was started again has another history: it is not compared, nor are the others
/// with it, until all of them begin_again(). Safe to use from several threads.
class LaunchOrder {
 public:
  explicit LaunchOrder(LaunchOrderOptions options);
  ~LaunchOrder();

  /// A program that can be launched, as far as this is concerned. Valid as long as the checker.
  struct Program {
    std::string name;
    std::string mesh;  ///< "data=2 (devices 0, 2048)"
    uint64_t hash;     ///< of all that must be equal in all processes
    size_t group;      ///< which set of processes
  };
  /// `processes`: of the mesh's devices, this one among them.
  const Program* add(std::string_view name, std::string_view text, const Mesh& mesh,
                     const std::vector<int64_t>& processes);

  /// The program is about to be launched. Calls come in the order of the launches. The failure,
  /// once there is one.
  Status begin(const Program& program);
  /// The launch that begin() was last called for did not happen after all.
  void withdraw();

  /// Why nothing is launched any more; else OK.
  Status failure() const;
  /// The failure instead of an error that it may have caused, else the error. Asks the other
  /// processes first, for a few seconds at most.
  Status explain(const Status& error);
  /// What was launched so far fails for a reason that is known, as that a process has given up:
  /// explain() need not ask for another.
  void excuse();

  /// All that was launched so far counts no more. To be called by all processes between the same
  /// launches, as when some have been started again, with the same name, which is used once.
  void begin_again(const std::string& epoch);

  /// Tells the others that this process launches no more, and ends the thread.
  void stop();

 private:
  struct Group {
    std::vector<int> processes;
    int64_t count = 0;
    uint64_t digest = 0;
  };
  struct Launch {
    const Program* program;
    int64_t number;
    uint64_t before, digest;  // of the group
    absl::Duration when;
  };
  struct Peer {
    uint64_t start = 0;  // of the first record seen
    bool other_history = false;
    int64_t compared = -1;                  // what this process had launched when all was the same
    std::map<std::string, int64_t> warned;  // by group: the operation
  };

  void note_change();  // mutex_ is held
  void run();
  void look(bool asked);
  LaunchRecord snapshot(int64_t* sequence) const;
  std::string key(std::string_view what) const { return options_.name + std::string(what); }
  std::string verdict_key(const LaunchRecord& own) const;
  void publish(const LaunchRecord& own);
  bool take_verdict(const LaunchRecord& own, bool asked);
  std::vector<int> peers_to_read(int64_t sequence);
  bool look_at(int process, const LaunchRecord& own);
  bool all_there(int process, const LaunchRecord& own, const LaunchRecord* peer);
  void diverged(const LaunchRecord& own, const std::string& difference);
  void fail(const std::string& message);

  const LaunchOrderOptions options_;
  const uint64_t start_;

  mutable std::mutex mutex_;
  std::condition_variable changed_, answered_;
  std::vector<std::unique_ptr<const Program>> programs_;  // guarded by mutex_, as all below
  std::string epoch_;
  std::vector<Group> groups_;
  std::deque<Launch> launches_;  // the newest of all groups
  int64_t sequence_ = 0;         // changes of the above
  Status failure_;
  bool stopped_ = false;
  int64_t asked_ = 0, looked_ = 0;
  int64_t explained_ = -1;  // up to which of sequence_ no divergence explains an error

  std::atomic<int64_t> published_ = 0;  // of sequence_
  std::atomic<bool> pending_ = false;   // not all that was launched has been compared

  // Of the thread.
  bool other_history_ = false;  // this process was started again
  std::map<int, Peer> peers_;
  std::string peers_epoch_;
  int next_peer_ = 0;
  Thread thread_;
};

}  // namespace tessera
