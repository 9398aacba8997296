#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "plugins/cpu/collectives/failure.h"
#include "plugins/cpu/collectives/key_values.h"
#include "plugins/cpu/collectives/wait_time.h"

namespace gloo::transport {
class Device;
class UnboundBuffer;
}  // namespace gloo::transport

namespace tessera::pjrt_cpu {

using Deadline = std::chrono::steady_clock::time_point;

/// What all meshes of a client sent and received: array data only, without Gloo's headers of 48
/// bytes a message and its notifications.
struct Traffic {
  std::atomic<uint64_t> bytes_sent = 0, bytes_received = 0;
  std::atomic<uint64_t> operations = 0;  ///< collectives that went over the network
  WaitTime waiting;                      ///< for other processes and for the network
};

/// The end of this process's connections: one address, and Gloo's one thread for all of them.
class Network {
 public:
  struct Options {
    std::string interface;  ///< name of a network interface, or else
    std::string address;    ///< IP address or host name of one; both empty: of this host's name
  };
  /// Throws Failure, INVALID_ARGUMENT, when there is no such interface or address.
  explicit Network(const Options& options);
  std::shared_ptr<gloo::transport::Device> device() const { return device_; }
  Traffic& traffic() { return traffic_; }

 private:
  std::shared_ptr<gloo::transport::Device> device_;
  Traffic traffic_;
};

/// TCP connections among some processes, each to each. One that breaks breaks all: whoever waits
/// here fails, and closes its ends, so that the others fail too. Safe to use from several threads.
///
/// A thread of the mesh watches the connections. Gloo tells only those that have asked for a
/// message and got nothing of it yet, neither those whose message breaks off in the middle nor
/// those that wait for another process.
class Mesh {
 public:
  /// This process is `rank` of `names`, which are what errors call the processes. `broken` is
  /// called once, from the mesh's thread, when a connection breaks other than by the other's
  /// destructor.
  Mesh(Network& network, int rank, std::vector<std::string> names,
       std::function<void(const Failure&)> broken = {});
  /// Leaves in order: what the others still receive arrives, and they do not take it for a death.
  ~Mesh();
  Mesh(const Mesh&) = delete;
  Mesh& operator=(const Mesh&) = delete;

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(names_.size()); }

  /// Meets the others through `store`, under keys that no other mesh uses. Throws Failure. While it
  /// waits it calls `check` now and then, which throws Failure when there is nobody to wait for.
  void connect(KeyValues& store, Deadline deadline, const std::function<void()>& check = {});

  /// Makes whoever waits, now or later, fail with UNAVAILABLE and `reason`. The first reason stays.
  void abort(const std::string& reason);
  /// Why, after abort() or a connection that broke.
  std::optional<Failure> failure() const;

 private:
  friend class Transfers;
  class Connections;
  struct Watch;
  void start_watch();
  void watch(Watch& watch);
  [[noreturn]] void fail(const std::string& doing, int peer, const std::string& error,
                         Deadline deadline);
  void close();

  Network& network_;
  const int rank_;
  const std::vector<std::string> names_;
  std::unique_ptr<Connections> connections_;
  const std::function<void(const Failure&)> broken_;
  std::shared_ptr<Watch> watch_;  // once connected
  std::thread watch_thread_;

  mutable std::mutex mutex_;
  std::optional<Failure> failure_;        // guarded by mutex_
  std::set<class Transfers*> transfers_;  // guarded by mutex_: those under way
};

/// Messages that are under way together. Between two processes messages of one tag arrive in the
/// order in which both sides ask for them, so one tag does for a whole collective. Not safe for
/// several threads.
class Transfers {
 public:
  Transfers(Mesh& mesh, uint64_t tag, Deadline deadline);
  /// Waits for nothing: after a failure, closes the mesh, so that the memory is left alone.
  ~Transfers();
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  /// Both return at once; the memory must stay until wait() has returned or thrown. No bytes: no
  /// message. They throw Failure.
  void send(int peer, const void* data, size_t bytes);
  void receive(int peer, void* data, size_t bytes);
  /// Returns when all are done. Throws Failure: DEADLINE_EXCEEDED, or UNAVAILABLE when a connection
  /// breaks or the mesh is aborted.
  void wait();

 private:
  friend class Mesh;
  struct Message {
    std::unique_ptr<gloo::transport::UnboundBuffer> buffer;
    int peer;
    bool sends;
  };
  Message& add(int peer, void* data, size_t bytes, bool sends);
  void await(Message& message);

  Mesh& mesh_;
  const uint64_t tag_;
  const Deadline deadline_;
  std::vector<Message> messages_;  // changed under the mesh's mutex
};

/// While it lives, a connection that the other side has closed does not raise SIGPIPE in this
/// thread: Gloo writes to sockets as to files.
class NoSigpipe {
 public:
  NoSigpipe();
  ~NoSigpipe();
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;

 private:
  bool was_blocked_ = false, was_pending_ = false;
};

}  // namespace tessera::pjrt_cpu
