// One connection attempt that ends in words. gRPC's own errors name neither the certificate nor
// what would mend it, and a server that refuses a client's certificate only closes the connection.

#include <fcntl.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>

#include "tessera/base/strings.h"
#include "tessera/coord/mtls.h"
#include "tessera/coord/openssl_text_internal.h"

namespace tessera::coord {
namespace {

// How an HTTP/2 client begins, with an empty SETTINGS frame (RFC 9113, section 3.4). A server
// answers with a SETTINGS frame of its own: 3 bytes of length, then its type, 4.
constexpr std::string_view kPreface("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);
constexpr char kSettingsType = 4;

class Deadline {
 public:
  explicit Deadline(absl::Duration timeout)
      : end_(std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(timeout)) {}
  int left_ms() const {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end_ - std::chrono::steady_clock::now());
    return static_cast<int>(std::max<int64_t>(0, left.count()));
  }
  /// Whether the socket became ready in time.
  bool wait(int socket, short events) const {
    pollfd entry = {.fd = socket, .events = events, .revents = 0};
    while (true) {
      const int ready = poll(&entry, 1, left_ms());
      if (ready >= 0 || errno != EINTR) return ready > 0;
    }
  }

 private:
  std::chrono::steady_clock::time_point end_;
};

class Socket {
 public:
  Socket() = default;
  explicit Socket(int number) : number_(number) {}
  ~Socket() {
    if (number_ >= 0) close(number_);
  }
  Socket(Socket&& other) : number_(std::exchange(other.number_, -1)) {}
  Socket& operator=(Socket&& other) {
    std::swap(number_, other.number_);
    return *this;
  }
  int number() const { return number_; }

 private:
  int number_ = -1;
};

// OpenSSL writes with write(), so a connection that the other end closed would raise SIGPIPE, which
// ends a process. While one of these lives it does not, in this thread.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    const timespec at_once = {};
    while (!was_pending_ && sigtimedwait(&pipe_, nullptr, &at_once) == SIGPIPE) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t pipe_, before_;
  bool was_pending_ = false;
};

Status unavailable(const HostPort& address, std::string_view why) {
  return absl::UnavailableError(str_cat(to_string(address), ": ", why));
}

Result<Socket> connect_one(const addrinfo& target, const HostPort& address,
                           const Deadline& deadline) {
  Socket socket(::socket(target.ai_family, target.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
                         target.ai_protocol));
  if (socket.number() < 0) return unavailable(address, std::strerror(errno));
  if (connect(socket.number(), target.ai_addr, target.ai_addrlen) == 0) return socket;
  if (errno != EINPROGRESS) return unavailable(address, std::strerror(errno));
  if (!deadline.wait(socket.number(), POLLOUT)) return unavailable(address, "no answer");
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return unavailable(address, std::strerror(error));
  return socket;
}

Result<Socket> connect_to(const HostPort& address, const Deadline& deadline) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(address.host.c_str(), str_cat(address.port).c_str(), &hints, &found);
  if (error != 0) return unavailable(address, gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> targets(found, freeaddrinfo);
  Status last = unavailable(address, "the name has no address");
  for (const addrinfo* target = found; target; target = target->ai_next) {
    Result<Socket> socket = connect_one(*target, address, deadline);
    if (socket.ok()) return socket;
    last = socket.status();
  }
  return last;
}

// What came back for the preface: the first bytes, or nothing when the other end closed.
std::string answer_to_preface(int socket, const Deadline& deadline) {
  if (send(socket, kPreface.data(), kPreface.size(), MSG_NOSIGNAL) < 0) return "";
  std::string answer;
  while (answer.size() < 9 && deadline.wait(socket, POLLIN)) {
    char bytes[64];
    const ssize_t count = recv(socket, bytes, sizeof(bytes), 0);
    if (count <= 0) break;
    answer.append(bytes, static_cast<size_t>(count));
  }
  return answer;
}

bool is_settings(std::string_view answer) {
  return answer.size() >= 9 && answer[0] == 0 && answer[3] == kSettingsType;
}

Status not_a_coordinator(const HostPort& address) {
  return failed_precondition(to_string(address),
                             ": what answers there is no coordinator. Look at the address, and "
                             "whether another program has the port.");
}

class TlsSession {
 public:
  TlsSession(const HostPort& address, const MtlsConfig& config, const Deadline& deadline)
      : address_(address), config_(config), deadline_(deadline) {}
  ~TlsSession() {
    X509_free(seen_);
    SSL_free(ssl_);
    SSL_CTX_free(context_);
    ERR_clear_error();
  }

  /// Shows our certificate and looks at the other end's.
  Status run(int socket) {
    RETURN_IF_ERROR(prepare(socket, /*anonymous=*/false));
    if (!finish([&] { return SSL_connect(ssl_); })) return handshake_failed();
    if (!config_.peer_uri_prefix.empty()) RETURN_IF_ERROR(check_uri());
    // Under TLS 1.3 the other end judges our certificate only after our side of the handshake is
    // done.
    if (!finish(
            [&] { return SSL_write(ssl_, kPreface.data(), static_cast<int>(kPreface.size())); })) {
      return refused();
    }
    char bytes[64];
    int count = 0;
    if (!finish([&] { return count = SSL_read(ssl_, bytes, sizeof(bytes)); })) return refused();
    if (!is_settings(std::string_view(bytes, static_cast<size_t>(count)))) {
      return not_a_coordinator(address_);
    }
    return absl::OkStatus();
  }

  /// Whether TLS is spoken there at all.
  bool is_spoken(int socket) {
    if (!prepare(socket, /*anonymous=*/true).ok()) return false;
    finish([&] { return SSL_connect(ssl_); });
    return SSL_get0_peer_certificate(ssl_) != nullptr;
  }

 private:
  Status prepare(int socket, bool anonymous) {
    context_ = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_min_proto_version(context_, TLS1_2_VERSION);
    if (!anonymous) {
      if (SSL_CTX_use_certificate_chain_file(context_, config_.cert_file.c_str()) != 1 ||
          SSL_CTX_use_PrivateKey_file(context_, config_.key_file.c_str(), SSL_FILETYPE_PEM) != 1 ||
          SSL_CTX_load_verify_locations(context_, config_.ca_file.c_str(), nullptr) != 1) {
        return invalid_argument("mTLS: ", config_.cert_file, ", ", config_.key_file, ", ",
                                config_.ca_file, ": ", openssl_error());
      }
      SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, keep_certificate);
    }
    ssl_ = SSL_new(context_);
    SSL_set_app_data(ssl_, this);
    const unsigned char protocols[] = {2, 'h', '2'};
    SSL_set_alpn_protos(ssl_, protocols, sizeof(protocols));
    SSL_set_fd(ssl_, socket);
    if (!anonymous && config_.peer_uri_prefix.empty()) {
      X509_VERIFY_PARAM* parameters = SSL_get0_param(ssl_);
      if (X509_VERIFY_PARAM_set1_ip_asc(parameters, address_.host.c_str()) != 1) {
        ERR_clear_error();
        SSL_set1_host(ssl_, address_.host.c_str());
        SSL_set_tlsext_host_name(ssl_, address_.host.c_str());
      }
    }
    return absl::OkStatus();
  }

  /// Repeats `step` until it is done; false when it failed or took too long.
  template <typename Step>
  bool finish(Step step) {
    while (true) {
      ERR_clear_error();
      const int result = step();
      if (result > 0) return true;
      const int error = SSL_get_error(ssl_, result);
      const bool reads = error == SSL_ERROR_WANT_READ;
      if (!reads && error != SSL_ERROR_WANT_WRITE) return false;
      if (!deadline_.wait(SSL_get_fd(ssl_), reads ? POLLIN : POLLOUT)) {
        too_late_ = true;
        return false;
      }
    }
  }

  // OpenSSL forgets a certificate that it does not accept.
  static int keep_certificate(int accepted, X509_STORE_CTX* chain) {
    const auto* ssl = static_cast<const SSL*>(
        X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
    auto* session = static_cast<TlsSession*>(SSL_get_app_data(ssl));
    X509* certificate = X509_STORE_CTX_get0_cert(chain);
    if (!session->seen_ && certificate && X509_up_ref(certificate) == 1) {
      session->seen_ = certificate;
    }
    return accepted;
  }

  std::string at() const { return to_string(address_); }

  Status handshake_failed() {
    if (too_late_) return unavailable(address_, "connected, but the TLS handshake got no answer");
    const long verdict = SSL_get_verify_result(ssl_);
    if (verdict != X509_V_OK) return bad_certificate(verdict);
    const unsigned long code = ERR_peek_error();
    const int reason = ERR_GET_REASON(code);
    if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_UNEXPECTED_MESSAGE ||
        reason == SSL_R_HTTP_REQUEST || reason == SSL_R_PACKET_LENGTH_TOO_LONG) {
      ERR_clear_error();
      return failed_precondition(at(),
                                 ": mTLS is configured here, but what answers there does not speak "
                                 "TLS. Start the coordinator with certificates as well.");
    }
    if (code == 0) return unavailable(address_, "the connection was closed in the TLS handshake");
    return refused();
  }

  Status bad_certificate(long verdict) {
    const std::string subject =
        seen_ ? str_cat(" (", name_text(X509_get_subject_name(seen_)), ")") : "";
    const std::string start = str_cat(at(), ": the coordinator's certificate", subject, " ");
    ERR_clear_error();
    switch (verdict) {
      case X509_V_ERR_CERT_HAS_EXPIRED:
        return absl::UnauthenticatedError(str_cat(
            start, "expired", seen_ ? str_cat(" at ", time_text(X509_get0_notAfter(seen_))) : "",
            ". Renew it."));
      case X509_V_ERR_CERT_NOT_YET_VALID:
        return absl::UnauthenticatedError(
            str_cat(start, "is not valid yet. Look at the clocks of both machines."));
      case X509_V_ERR_HOSTNAME_MISMATCH:
      case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return absl::UnauthenticatedError(
            str_cat(start, "is for other hosts than ", address_.host,
                    seen_ ? str_cat(": ", alternative_names(seen_)) : "",
                    ". Use a name that it has, or --mtls-peer-uri-prefix where it has a URI."));
      default:
        return absl::UnauthenticatedError(str_cat(start, "does not come from a CA in ",
                                                  config_.ca_file, ": ",
                                                  X509_verify_cert_error_string(verdict)));
    }
  }

  Status check_uri() {
    X509* certificate = SSL_get0_peer_certificate(ssl_);
    for (const std::string& name : uri_names(certificate)) {
      if (name.starts_with(config_.peer_uri_prefix)) return absl::OkStatus();
    }
    return absl::UnauthenticatedError(
        str_cat(at(), ": the coordinator's certificate has no URI name that begins with ",
                config_.peer_uri_prefix, "; its names: ", alternative_names(certificate)));
  }

  // A server of gRPC's closes the connection without a word, so what may be the matter is looked
  // for at this end.
  Status refused() {
    if (too_late_) return unavailable(address_, "connected, but got no answer");
    ERR_clear_error();
    const Status own = config_.check_issuer();
    return absl::UnauthenticatedError(str_cat(
        at(), ": the coordinator refused the certificate in ", config_.cert_file, ": ",
        own.ok() ? "it trusts another CA, or asks for another URI prefix; its log says which"
                 : from_absl(own.message())));
  }

  const HostPort& address_;
  const MtlsConfig& config_;
  const Deadline& deadline_;
  SSL_CTX* context_ = nullptr;
  SSL* ssl_ = nullptr;
  X509* seen_ = nullptr;  // the other end's certificate
  bool too_late_ = false;
};

Status probe_plain(const HostPort& address, const MtlsConfig& config, const Socket& socket,
                   const Deadline& deadline) {
  const std::string answer = answer_to_preface(socket.number(), deadline);
  if (is_settings(answer)) return absl::OkStatus();
  if (answer.empty() && deadline.left_ms() == 0) {
    return unavailable(address, "connected, but got no answer");
  }
  // A TLS server closes, or answers with an alert.
  constexpr char kTlsAlert = 0x15;
  if (!answer.empty() && answer[0] != kTlsAlert) return not_a_coordinator(address);
  ASSIGN_OR_RETURN(const Socket second, connect_to(address, deadline));
  if (TlsSession(address, config, deadline).is_spoken(second.number())) {
    return absl::UnauthenticatedError(
        str_cat(to_string(address),
                ": the coordinator requires mTLS. Give --mtls-cert-file, --mtls-key-file and "
                "--mtls-ca-file, or TESSERA_MTLS_CERT_FILE, _KEY_FILE and _CA_FILE."));
  }
  // One that closes without a word may be starting or stopping.
  if (answer.empty()) return unavailable(address, "the connection was closed");
  return not_a_coordinator(address);
}

}  // namespace

Status probe(const HostPort& address, const MtlsConfig& config, absl::Duration timeout) {
  const NoPipeSignal no_pipe_signal;
  const Deadline deadline(timeout);
  ASSIGN_OR_RETURN(const Socket socket, connect_to(address, deadline));
  if (!config.enabled()) return probe_plain(address, config, socket, deadline);
  return TlsSession(address, config, deadline).run(socket.number());
}

}  // namespace tessera::coord
