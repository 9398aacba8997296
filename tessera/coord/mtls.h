#pragma once

#include <map>
#include <string>

#include "absl/time/time.h"
#include "tessera/base/config.h"
#include "tessera/base/status.h"

namespace tessera::coord {

/// Mutual TLS between processes and their coordinator: both show a certificate. PEM files, read
/// again when they change.
struct MtlsConfig {
  std::string cert_file;  ///< own certificate, then those between it and the CA
  std::string key_file;
  std::string ca_file;  ///< those that the other end's certificate must come from
  /// Where not empty: the other end's certificate must have a URI name that begins so, and its host
  /// name does not matter. Ends in "/".
  std::string peer_uri_prefix;
  /// Refuse to run without certificates.
  bool require = false;

  bool enabled() const { return !cert_file.empty(); }
  void fields(ConfigFields& f);
  /// Fills what is empty from TESSERA_MTLS_CERT_FILE, _KEY_FILE, _CA_FILE, _PEER_URI_PREFIX and
  /// TESSERA_REQUIRE_MTLS (1, 0, true or false).
  Status fill_from(const std::map<std::string, std::string>& environment);
  /// All three files or none; a prefix that ends in "/" and comes with files; something, where it
  /// is required.
  Status validate() const;
  /// validate(), and that the files can be read, fit together, and are valid now.
  Status check_files() const;
  /// check_files(), and that the own certificate comes from a CA in ca_file, as it does where one
  /// CA serves all.
  Status check_issuer() const;
  /// What a child process needs in its environment to be configured the same.
  std::map<std::string, std::string> environment() const;
};

/// "host:port", "[::1]:port".
struct HostPort {
  std::string host;
  int port = 0;
};
Result<HostPort> parse_host_port(const std::string& address);
std::string to_string(const HostPort& address);
bool is_loopback(const std::string& host);

/// Connects once, the way a client does, and says what is wrong in words: UNAVAILABLE when there is
/// no connection (it may come), UNAUTHENTICATED when the two ends do not trust one another,
/// FAILED_PRECONDITION when something else answers, or only one end uses TLS. OK when a client will
/// get through. Takes at most `timeout`.
Status probe(const HostPort& address, const MtlsConfig& config, absl::Duration timeout);

}  // namespace tessera::coord
