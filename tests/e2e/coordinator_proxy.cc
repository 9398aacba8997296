#include "tests/e2e/coordinator_proxy.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>

#include "tessera/base/status.h"

namespace tessera::e2e {
namespace {

constexpr int kLookMs = 10;  // how often for cuts

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// Of "127.0.0.1:1234" in a file; 0 where there is none.
int port_in(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  file >> text;
  const size_t colon = text.rfind(':');
  return colon == std::string::npos ? 0 : std::atoi(text.c_str() + colon + 1);
}

int connect_to(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port);
  if (port > 0 &&
      connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return socket;
  }
  close(socket);
  return -1;
}

void prepare(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  fcntl(socket, F_SETFL, O_NONBLOCK);
}

void reset(int socket) {
  const linger at_once = {.l_onoff = 1, .l_linger = 0};
  setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close(socket);
}

}  // namespace

struct CoordinatorProxy::Way {
  int from, to;
  std::string waiting;  // read, and not yet written

  short wants_of(int socket) const {
    if (socket == from && waiting.empty()) return POLLIN;
    return socket == to && !waiting.empty() ? POLLOUT : 0;
  }
  /// False where the connection has ended.
  bool move() {
    if (waiting.empty()) {
      char bytes[1 << 16];
      const ssize_t count = recv(from, bytes, sizeof bytes, 0);
      if (count == 0) return false;
      if (count < 0) return errno == EAGAIN || errno == EINTR;
      waiting.assign(bytes, static_cast<size_t>(count));
    }
    const ssize_t count = send(to, waiting.data(), waiting.size(), MSG_NOSIGNAL);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    waiting.erase(0, static_cast<size_t>(count));
    return true;
  }
};

struct CoordinatorProxy::Connection {
  Gate* gate;
  Way there, back;
  bool over = false;

  void pass_on() {
    over = over || gate->cut == Cut::kReset;
    if (gate->cut == Cut::kNone) over = over || !there.move() || !back.move();
    if (!over) return;
    reset(there.from);
    reset(there.to);
  }
};

CoordinatorProxy::CoordinatorProxy(std::vector<std::string> targets) : gates_(targets.size()) {
  for (size_t i = 0; i < targets.size(); ++i) {
    Gate& gate = gates_[i];
    gate.target = std::move(targets[i]);
    gate.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    CHECK(bind(gate.listener, reinterpret_cast<sockaddr*>(&address), size) == 0);
    CHECK(listen(gate.listener, 64) == 0);
    CHECK(getsockname(gate.listener, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    gate.port = ntohs(address.sin_port);
  }
  thread_ = Thread("test-proxy", [this] { run(); });
}

CoordinatorProxy::~CoordinatorProxy() {
  stopping_ = true;
  thread_.join();
  for (const Gate& gate : gates_) close(gate.listener);
  for (const Connection& connection : connections_) {
    close(connection.there.from);
    close(connection.there.to);
  }
}

void CoordinatorProxy::accept_at(Gate& gate) {
  if (gate.cut == Cut::kHeld) return;  // it waits, half open
  const int client = accept4(gate.listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) return;
  const int server = gate.cut == Cut::kReset ? -1 : connect_to(port_in(gate.target));
  if (server < 0) return reset(client);
  ++passed_;
  prepare(client);
  prepare(server);
  connections_.push_back({&gate, {client, server, ""}, {server, client, ""}});
}

void CoordinatorProxy::pass_on() {
  for (Connection& connection : connections_) connection.pass_on();
  std::erase_if(connections_, [](const Connection& connection) { return connection.over; });
}

void CoordinatorProxy::run() {
  while (!stopping_) {
    std::vector<pollfd> entries;
    for (const Gate& gate : gates_) {
      if (gate.cut != Cut::kHeld) entries.push_back({gate.listener, POLLIN, 0});
    }
    for (const Connection& connection : connections_) {
      if (connection.gate->cut != Cut::kNone) continue;
      for (const int socket : {connection.there.from, connection.there.to}) {
        const int wants = connection.there.wants_of(socket) | connection.back.wants_of(socket);
        entries.push_back({socket, static_cast<short>(wants), 0});
      }
    }
    poll(entries.data(), entries.size(), kLookMs);
    pass_on();
    for (Gate& gate : gates_) accept_at(gate);
  }
}

}  // namespace tessera::e2e
