#include "plugins/cpu/collectives/mesh.h"

#include <gloo/context.h>
#include <gloo/transport/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>
#include <net/if.h>
#include <netdb.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace tessera::pjrt_cpu {
namespace {

using std::chrono::milliseconds;

milliseconds time_left(Deadline deadline) {
  return std::max(milliseconds(0), std::chrono::duration_cast<milliseconds>(
                                       deadline - std::chrono::steady_clock::now()));
}

constexpr char kNoAddress[] =
    "the collectives' connections have no address to start from (create options "
    "'collectives_interface' and 'collectives_address'): ";

// Looked at before Gloo does, which takes any answer of the resolver for an address, and leaks what
// it found where none can be used.
std::string usable_address(std::string host) {
  if (host.empty()) {
    char name[256] = {};
    gethostname(name, sizeof(name) - 1);
    host = name;
  }
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (error != 0)
    throw Failure(Failure::kInvalidArgument, kNoAddress + host + ": " + gai_strerror(error));
  bool bound = false;
  for (const addrinfo* one = found; one != nullptr && !bound; one = one->ai_next) {
    const int socket = ::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, 0);
    bound = socket >= 0 && bind(socket, one->ai_addr, one->ai_addrlen) == 0;
    if (socket >= 0) close(socket);
  }
  freeaddrinfo(found);
  if (!bound)
    throw Failure(Failure::kInvalidArgument, kNoAddress + host + " is no address of this machine");
  return host;
}

std::string usable_interface(const std::string& name) {
  if (name.empty() || if_nametoindex(name.c_str()) != 0) return name;
  throw Failure(Failure::kInvalidArgument, kNoAddress + ("no interface is named " + name));
}

// Messages of different sizes never meet: Gloo would end the process where more comes than was
// asked for, as from a process that runs another program. So they wait, until something ends the
// wait.
uint64_t slot(uint64_t tag, size_t bytes) {
  constexpr int kSizeBits = 15, kFrom = 48;  // the topmost stays as it is: it marks a watch
  const uint64_t mixed = (bytes * uint64_t{0x9e3779b97f4a7c15}) >> (64 - kSizeBits);
  return tag ^ (mixed << kFrom);
}

std::string to_text(const std::vector<char>& bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace

NoSigpipe::NoSigpipe() {
  sigset_t pipe, before, pending;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  sigpending(&pending);
  was_pending_ = sigismember(&pending, SIGPIPE) == 1;
  pthread_sigmask(SIG_BLOCK, &pipe, &before);
  was_blocked_ = sigismember(&before, SIGPIPE) == 1;
}

NoSigpipe::~NoSigpipe() {
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  if (!was_pending_) {
    const timespec now = {};
    sigtimedwait(&pipe, nullptr, &now);
  }
  if (!was_blocked_) pthread_sigmask(SIG_UNBLOCK, &pipe, nullptr);
}

// ---- network

Network::Network(const Options& options) {
  NoSigpipe guard;  // Gloo's thread inherits the mask
  gloo::transport::tcp::attr attributes;
  attributes.iface = usable_interface(options.interface);
  if (options.interface.empty()) attributes.hostname = usable_address(options.address);
  try {
    device_ = gloo::transport::tcp::CreateDevice(attributes);
  } catch (const std::exception& error) {
    throw Failure(Failure::kInvalidArgument, std::string(kNoAddress) + error.what());
  }
}

// ---- mesh

/// Gloo's side of a mesh. The pairs are all made at the start, so that they may be closed while
/// another thread still connects them.
class Mesh::Connections : public gloo::Context {
 public:
  Connections(const std::shared_ptr<gloo::transport::Device>& device, int rank, int size)
      : gloo::Context(rank, size) {
    device_ = device;
    transportContext_ = device->createContext(rank, size);
  }
  void create_pairs(milliseconds timeout) {
    // Gloo waits five times as long for a connection.
    transportContext_->setTimeout(std::max(milliseconds(1), timeout / 5));
    for (int peer = 0; peer < size; ++peer) {
      if (peer != rank) transportContext_->createPair(peer);
    }
    has_pairs_ = true;
  }
  gloo::transport::Pair& pair(int peer) { return *transportContext_->getPair(peer); }
  std::unique_ptr<gloo::transport::UnboundBuffer> buffer(void* data, size_t bytes) {
    return transportContext_->createUnboundBuffer(data, bytes);
  }
  void close() {
    if (has_pairs_) closeConnections();
  }

 private:
  std::atomic<bool> has_pairs_ = false;
};

Mesh::Mesh(Network& network, int rank, std::vector<std::string> names,
           std::function<void(const Failure&)> broken)
    : network_(network),
      rank_(rank),
      names_(std::move(names)),
      connections_(std::make_unique<Connections>(network.device(), rank, size())),
      broken_(std::move(broken)) {}

/// A message that is always asked for and comes only when the other side leaves.
struct Mesh::Watch {
  static constexpr uint64_t kSlot = ~uint64_t{0}, kProbeSlot = kSlot - 1;
  std::vector<char> bytes;
  std::unique_ptr<gloo::transport::UnboundBuffer> farewell;
  std::function<void(const Failure&)> broken;
};

Mesh::~Mesh() {
  if (watch_ == nullptr) return;
  NoSigpipe guard;
  watch_->farewell->abortWaitRecv();
  // The last owner may have let go in the thread itself, which then touches only its Watch.
  if (watch_thread_.get_id() == std::this_thread::get_id()) {
    watch_thread_.detach();
  } else {
    watch_thread_.join();
  }
  if (failure()) return;
  char byte = 0;
  const auto farewell = connections_->buffer(&byte, 1);
  try {
    for (int peer = 0; peer < size(); ++peer) {
      if (peer != rank_) farewell->send(peer, Watch::kSlot);
    }
    for (int peer = 0; peer + 1 < size(); ++peer) farewell->waitSend(milliseconds(100));
  } catch (const std::exception&) {  // they are gone already
  }
}

void Mesh::start_watch() {
  watch_ = std::make_shared<Watch>();
  watch_->bytes.resize(size());
  watch_->farewell = connections_->buffer(watch_->bytes.data(), watch_->bytes.size());
  watch_->broken = broken_;
  for (int peer = 0; peer < size(); ++peer) {
    if (peer != rank_) watch_->farewell->recv(peer, Watch::kSlot, peer, 1);
  }
  watch_thread_ = std::thread([this, watch = watch_] {
    NoSigpipe guard;
    pthread_setname_np(pthread_self(), "mesh watch");
    this->watch(*watch);
  });
}

void Mesh::watch(Watch& watch) {
  constexpr auto kForEver = std::chrono::hours(24 * 365);
  std::string reason;
  try {
    for (int left = 0; left + 1 < size(); ++left) {
      if (!watch.farewell->waitRecv(kForEver)) return;  // this side leaves
    }
    return;
  } catch (const std::exception& error) {
    reason = error.what();
  }
  // Which one? A connection that is broken takes no more wishes.
  for (int peer = 0; peer < size(); ++peer) {
    try {
      if (peer != rank_) watch.farewell->recv(peer, Watch::kProbeSlot, peer, 1);
    } catch (const std::exception& error) {
      reason = "the connection to " + names_[peer] + " has broken: " + error.what();
      break;
    }
  }
  abort(reason);
  // The last thing done, since it may destroy the mesh.
  if (watch.broken) watch.broken(Failure(Failure::kUnavailable, reason));
}

void Mesh::close() {
  NoSigpipe guard;
  connections_->close();
}

void Mesh::connect(KeyValues& store, Deadline deadline, const std::function<void()>& check) {
  NoSigpipe guard;
  int peer = rank_;
  try {
    connections_->create_pairs(time_left(deadline));
    // One value with the addresses that all others shall connect to, in their order.
    std::string addresses;
    for (int other = 0; other < size(); ++other) {
      if (other != rank_) addresses += to_text(connections_->pair(other).address().bytes());
    }
    store.put(std::to_string(rank_), addresses);
    // All have come before one connects: that waits for the other side, and sees no failure.
    std::vector<std::string> of_peer(size());
    for (peer = 0; peer < size(); ++peer) {
      if (peer == rank_) continue;
      std::string& all = of_peer[peer];
      while (all.empty()) {  // in slices, to see an abort
        if (const auto failed = failure()) throw *failed;
        const milliseconds left = time_left(deadline);
        try {
          all =
              store.get(std::to_string(peer), std::clamp(left, milliseconds(1), milliseconds(500)));
        } catch (const Failure& late) {
          if (late.code() != Failure::kDeadlineExceeded || left <= milliseconds(0)) throw;
          if (check) check();
        }
      }
    }
    for (peer = 0; peer < size(); ++peer) {
      if (peer == rank_) continue;
      const std::string& all = of_peer[peer];
      const size_t one = all.size() / (size() - 1);
      const size_t index = rank_ < peer ? rank_ : rank_ - 1;
      const std::string address = all.substr(index * one, one);
      connections_->pair(peer).connect({address.begin(), address.end()});
    }
    start_watch();
  } catch (const std::exception& error) {
    fail("connecting to", peer, error.what(), deadline);
  }
  if (const auto failed = failure()) throw *failed;
}

void Mesh::abort(const std::string& reason) {
  {
    std::lock_guard lock(mutex_);
    if (!failure_) failure_ = Failure(Failure::kUnavailable, reason);
    for (Transfers* transfers : transfers_) {
      for (Transfers::Message& message : transfers->messages_) {
        message.sends ? message.buffer->abortWaitSend() : message.buffer->abortWaitRecv();
      }
    }
  }
  close();
}

std::optional<Failure> Mesh::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

void Mesh::fail(const std::string& doing, int peer, const std::string& error, Deadline deadline) {
  const bool late = time_left(deadline) == milliseconds(0);
  const std::string reason = doing + " " + names_.at(peer) + ": " + error;
  abort(reason);
  const Failure first = failure().value();
  if (!late || first.what() != reason) throw first;
  throw Failure(Failure::kDeadlineExceeded,
                doing + " " + names_.at(peer) +
                    " took longer than the create option 'collective_timeout_ms' allows");
}

// ---- transfers

Transfers::Transfers(Mesh& mesh, uint64_t tag, Deadline deadline)
    : mesh_(mesh), tag_(tag), deadline_(deadline) {
  std::lock_guard lock(mesh_.mutex_);
  mesh_.transfers_.insert(this);
}

Transfers::~Transfers() {
  {
    std::lock_guard lock(mesh_.mutex_);
    mesh_.transfers_.erase(this);
  }
  if (!messages_.empty()) mesh_.abort("a collective ended before its messages did");
}

Transfers::Message& Transfers::add(int peer, void* data, size_t bytes, bool sends) {
  auto buffer = mesh_.connections_->buffer(data, bytes);
  std::lock_guard lock(mesh_.mutex_);
  if (mesh_.failure_) throw *mesh_.failure_;
  return messages_.emplace_back(Message{std::move(buffer), peer, sends});
}

void Transfers::send(int peer, const void* data, size_t bytes) {
  if (bytes == 0) return;
  Message& message = add(peer, const_cast<void*>(data), bytes, true);
  try {
    message.buffer->send(peer, slot(tag_, bytes));
  } catch (const std::exception& error) {
    mesh_.fail("sending to", peer, error.what(), deadline_);
  }
  mesh_.network_.traffic().bytes_sent += bytes;
}

void Transfers::receive(int peer, void* data, size_t bytes) {
  if (bytes == 0) return;
  Message& message = add(peer, data, bytes, false);
  try {
    message.buffer->recv(peer, slot(tag_, bytes));
  } catch (const std::exception& error) {
    mesh_.fail("receiving from", peer, error.what(), deadline_);
  }
  mesh_.network_.traffic().bytes_received += bytes;
}

void Transfers::await(Message& message) {
  try {
    const auto wait = [&](milliseconds timeout) {
      return message.sends ? message.buffer->waitSend(timeout) : message.buffer->waitRecv(timeout);
    };
    // An abort counts for more than what is there already: the second call gets that.
    if (wait(time_left(deadline_)) || wait(milliseconds(0))) return;
  } catch (const std::exception& error) {
    mesh_.fail(message.sends ? "sending to" : "receiving from", message.peer, error.what(),
               deadline_);
  }
  mesh_.fail("waiting for", message.peer, "aborted", deadline_);
}

void Transfers::wait() {
  const WaitTime::Scope scope(mesh_.network_.traffic().waiting);
  for (Message& message : messages_) await(message);
  std::lock_guard lock(mesh_.mutex_);
  messages_.clear();
}

}  // namespace tessera::pjrt_cpu
