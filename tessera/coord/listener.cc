#include <dirent.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "tessera/base/log.h"
#include "tessera/coord/listener_internal.h"

namespace tessera::coord {
namespace {

ino_t inode_of(int socket) {
  struct stat info = {};
  return fstat(socket, &info) == 0 ? info.st_ino : 0;
}

// The inodes of all sockets that this process has open.
std::unordered_set<ino_t> open_sockets() {
  std::unordered_set<ino_t> found;
  DIR* folder = opendir("/proc/self/fd");
  if (!folder) return found;
  while (const dirent* entry = readdir(folder)) {
    char target[64] = {};
    if (readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1) < 0) continue;
    constexpr std::string_view kSocket = "socket:[";
    if (!std::string_view(target).starts_with(kSocket)) continue;
    found.insert(std::strtoul(target + kSocket.size(), nullptr, 10));
  }
  closedir(folder);
  return found;
}

int port_of(int socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return address.ss_family == AF_INET6 ? ntohs(reinterpret_cast<sockaddr_in6*>(&address)->sin6_port)
                                       : ntohs(reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

}  // namespace

Result<std::unique_ptr<Listener>> Listener::open(const HostPort& address, size_t max_connections) {
  std::unique_ptr<Listener> listener(new Listener(max_connections));
  RETURN_IF_ERROR(listener->bind_all(address));
  listener->stop_event_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return listener;
}

Status Listener::bind_all(const HostPort& address) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (error != 0) {
    return invalid_argument("cannot listen at ", to_string(address), ": ", gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> targets(found, freeaddrinfo);
  int last_error = 0;
  for (addrinfo* target = found; target; target = target->ai_next) {
    const int socket =
        ::socket(target->ai_family, target->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket < 0) {
      last_error = errno;
      continue;
    }
    const int on = 1, off = 0;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (target->ai_family == AF_INET6) {
      setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    }
    // A name may have several addresses: all get the first one's port.
    if (port_ != 0) {
      if (target->ai_family == AF_INET6) {
        reinterpret_cast<sockaddr_in6*>(target->ai_addr)->sin6_port = htons(port_);
      } else {
        reinterpret_cast<sockaddr_in*>(target->ai_addr)->sin_port = htons(port_);
      }
    }
    if (bind(socket, target->ai_addr, target->ai_addrlen) != 0 || listen(socket, 4096) != 0) {
      last_error = errno;
      close(socket);
      continue;
    }
    port_ = port_of(socket);
    sockets_.push_back(socket);
  }
  if (!sockets_.empty()) return absl::OkStatus();
  return failed_precondition(
      "cannot listen at ", to_string(address), ": ", std::strerror(last_error),
      last_error == EADDRINUSE ? ". Another program has the port: stop it, or choose another."
                               : "");
}

Listener::~Listener() {
  stop();
  for (const int socket : sockets_) close(socket);
  if (stop_event_ >= 0) close(stop_event_);
}

void Listener::start(Taker take) {
  take_ = std::move(take);
  thread_ = Thread("coord-accept", [this] { run(); });
}

void Listener::stop() {
  const uint64_t one = 1;
  if (stop_event_ >= 0 && write(stop_event_, &one, sizeof(one)) < 0) return;
  thread_.join();
}

void Listener::run() {
  std::vector<pollfd> entries = {{.fd = stop_event_, .events = POLLIN, .revents = 0}};
  for (const int socket : sockets_)
    entries.push_back({.fd = socket, .events = POLLIN, .revents = 0});
  while (true) {
    if (poll(entries.data(), entries.size(), -1) < 0 && errno != EINTR) return;
    if (entries[0].revents != 0) return;
    for (size_t i = 1; i < entries.size(); ++i) {
      if (entries[i].revents != 0) accept_from(entries[i].fd);
    }
  }
}

bool Listener::has_room() {
  if (open_.size() < max_connections_) return true;
  const std::unordered_set<ino_t> still_open = open_sockets();
  std::erase_if(open_, [&](ino_t inode) { return !still_open.contains(inode); });
  return open_.size() < max_connections_;
}

void Listener::accept_from(int listening) {
  const int socket = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (socket < 0) {
    if (errno == EMFILE || errno == ENFILE) {
      if (!std::exchange(full_, true))
        log_warning("coordinator: no connection can be accepted: too many open files (ulimit -n)");
      pollfd stop = {.fd = stop_event_, .events = POLLIN, .revents = 0};
      poll(&stop, 1, 200);  // it would be tried again at once, for nothing
    }
    return;
  }
  full_ = false;
  if (!has_room()) {
    close(socket);
    if (refused_++ % 1000 == 0) {
      log_warning("coordinator: refused a connection: ", max_connections_,
                  " are open (--max-connections)");
    }
    return;
  }
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  open_.insert(inode_of(socket));
  take_(socket);
}

}  // namespace tessera::coord
