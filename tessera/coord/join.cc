#include "tessera/coord/join.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tessera/base/log.h"
#include "tessera/base/strings.h"

namespace tessera::coord {
namespace {

bool is_loopback(const addrinfo& address) {
  if (address.ai_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address.ai_addr);
    return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
  }
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address.ai_addr);
  return address.ai_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

// Whether one of this machine's interfaces has the address.
bool is_own(const addrinfo& address) {
  const int socket = ::socket(address.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return false;
  sockaddr_storage any_port = {};
  std::copy_n(reinterpret_cast<const char*>(address.ai_addr), address.ai_addrlen,
              reinterpret_cast<char*>(&any_port));
  if (address.ai_family == AF_INET) reinterpret_cast<sockaddr_in&>(any_port).sin_port = 0;
  if (address.ai_family == AF_INET6) reinterpret_cast<sockaddr_in6&>(any_port).sin6_port = 0;
  const bool bound = bind(socket, reinterpret_cast<sockaddr*>(&any_port), address.ai_addrlen) == 0;
  close(socket);
  return bound;
}

}  // namespace

Result<std::string> default_bind_address(const std::string& coordinator) {
  ASSIGN_OR_RETURN(const HostPort address, parse_host_port(coordinator));
  if (is_loopback(address.host)) return coordinator;
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  bool fits = getaddrinfo(address.host.c_str(), nullptr, &hints, &found) == 0;
  for (const addrinfo* one = found; fits && one; one = one->ai_next) {
    fits = is_own(*one) && !is_loopback(*one);
  }
  if (found) freeaddrinfo(found);
  return fits ? coordinator : to_string({"::", address.port});
}

void warn_of_plaintext(const std::string& bind, const MtlsConfig& mtls) {
  const Result<HostPort> address = parse_host_port(bind);
  if (mtls.enabled() || !address.ok() || is_loopback(address->host)) return;
  log_warning(
      "the coordinator at ", bind,
      " speaks to anyone, and in the clear: give certificates (docs/security.md), or let only "
      "the cluster's machines reach the port");
}

Result<std::unique_ptr<Membership>> Membership::join(
    const ClusterConfig& config, const ClusterSpec& spec, FileSystem& files, Clock& clock,
    std::function<void(const Status&)> on_failure,
    std::function<void(const std::vector<MemberChange>&)> on_change) {
  std::unique_ptr<Membership> membership(new Membership(clock));
  if (spec.process == 0 && !config.external_coordinator) {
    std::string bind = config.coordinator_bind_address;
    if (bind.empty()) {
      ASSIGN_OR_RETURN(bind, default_bind_address(spec.coordinator));
    }
    warn_of_plaintext(bind, config.mtls);
    ASSIGN_OR_RETURN(membership->server_,
                     Server::start({.processes = spec.processes,
                                    .bind = bind,
                                    .recoverable = config.recoverable,
                                    .heartbeat_timeout = absl::Seconds(config.heartbeat_timeout_s),
                                    .journal = config.journal,
                                    .mtls = config.mtls},
                                   files, clock));
  }
  ASSIGN_OR_RETURN(membership->client_,
                   Client::connect({.coordinator = spec.coordinator,
                                    .process = spec.process,
                                    .processes = spec.processes,
                                    .connect_timeout = absl::Seconds(config.connect_timeout_s),
                                    .mtls = config.mtls,
                                    .on_failure = std::move(on_failure),
                                    .on_change = std::move(on_change)},
                                   clock));
  return membership;
}

Status Membership::leave(absl::Duration timeout) {
  const absl::Duration end = clock_.elapsed() + timeout;
  const Status status = client_->shutdown(timeout);
  while (server_ && !server_->all_gone() && clock_.elapsed() < end) {
    clock_.sleep(absl::Milliseconds(10));
  }
  return status;
}

}  // namespace tessera::coord
