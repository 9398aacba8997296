#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "tessera/base/clock.h"
#include "tessera/base/thread.h"
#include "tessera/coord/journal.h"
#include "tessera/coord/state.h"

namespace tessera::coord {

/// One call that is answered at some time, exactly once, by the loop.
class PendingCall {
 public:
  virtual ~PendingCall() = default;
  virtual void finish(const grpc::ByteBuffer& reply) = 0;
  virtual void finish_without(const grpc::Status& status) = 0;
};

/// The one thread that a State lives in: takes what has come in meanwhile, stores what follows from
/// it, then replies. Other members are safe for any thread.
class Loop {
 public:
  /// `journal` may be null. State and journal must be ready; `clock` outlives this.
  Loop(std::unique_ptr<State> state, std::unique_ptr<Journal> journal, const Clock& clock);
  ~Loop() { stop(); }

  void submit(CallId id, PendingCall* call, wire::Request request);
  /// Nobody waits for the call any more. It is finished all the same.
  void drop(CallId id);
  /// See Server::process_ended().
  void process_ended(int process, std::string how);
  /// Finishes all calls; later ones are finished at once.
  void stop();

  /// Why the loop stopped by itself, else OK.
  Status broken() const;
  bool all_gone() const;
  int alive() const;
  /// See Server.
  uint64_t incarnation(int process) const;
  bool is_dead(int process) const;
  Status failure() const;

 private:
  struct Event {
    CallId id;
    PendingCall* call;  // null: drop, or a process that ended
    wire::Request request;
    int process = -1;  // that ended; -1: none
    std::string how = {};
  };

  void run();
  /// Whether the loop goes on.
  bool step(std::vector<Event> events);
  void reply_to(const std::vector<Output>& outputs);
  void finish_all(const grpc::Status& status);
  absl::Duration now();
  void publish();

  const Clock& clock_;
  // The thread's own.
  std::unique_ptr<State> state_;
  std::unique_ptr<Journal> journal_;
  std::unordered_map<CallId, PendingCall*> calls_;
  absl::Duration last_real_, state_time_;

  mutable std::mutex mutex_;
  std::condition_variable came_;
  std::vector<Event> events_;  // guarded by mutex_, as what follows
  bool stopping_ = false, stopped_ = false;
  Status broken_, failure_;
  bool all_gone_ = false;
  int alive_ = 0;
  uint64_t version_ = 0;
  std::vector<std::pair<uint64_t, bool>> starts_;  // by process: the last one, whether it is dead
  Thread thread_;
};

}  // namespace tessera::coord
