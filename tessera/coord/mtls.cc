#include "tessera/coord/mtls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>

#include <memory>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "tessera/base/filesystem.h"
#include "tessera/base/strings.h"
#include "tessera/coord/openssl_text_internal.h"

namespace tessera::coord {
namespace {

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

Result<std::string> read_pem(const std::string& what, const std::string& path) {
  PosixFileSystem files;
  Result<std::string> text = files.read_file(path);
  if (text.ok()) return text;
  return annotate(text.status(), str_cat("mTLS: the ", what, " cannot be read"));
}

Status not_pem(const std::string& what, const std::string& path) {
  ERR_clear_error();
  return invalid_argument("mTLS: ", path, " holds no ", what, " in PEM form");
}

Result<std::vector<Certificate>> read_certificates(const std::string& what,
                                                   const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, read_pem(what, path));
  const Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free);
  std::vector<Certificate> found;
  while (X509* next = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    found.emplace_back(next, X509_free);
  }
  ERR_clear_error();
  if (found.empty()) return not_pem(what, path);
  return found;
}

Result<Key> read_key(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, read_pem("private key", path));
  const Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free);
  // No terminal is asked for a passphrase.
  const auto no_passphrase = [](char*, int, int, void*) { return 0; };
  Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr), EVP_PKEY_free);
  if (!key) return not_pem("private key without a passphrase", path);
  return key;
}

Status check_dates(const std::string& path, X509* certificate) {
  if (X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0) {
    return failed_precondition("mTLS: the certificate in ", path, " expired at ",
                               time_text(X509_get0_notAfter(certificate)), ". Renew it.");
  }
  if (X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0) {
    return failed_precondition("mTLS: the certificate in ", path, " is valid only from ",
                               time_text(X509_get0_notBefore(certificate)),
                               ". Look at this machine's clock.");
  }
  return absl::OkStatus();
}

std::string variable(const std::map<std::string, std::string>& environment,
                     const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

}  // namespace

void MtlsConfig::fields(ConfigFields& f) {
  f.field("mtls_cert_file", cert_file)
      .help("mTLS: this end's certificate (PEM). Default: $TESSERA_MTLS_CERT_FILE.");
  f.field("mtls_key_file", key_file).help("mTLS: its key. Default: $TESSERA_MTLS_KEY_FILE.");
  f.field("mtls_ca_file", ca_file)
      .help(
          "mTLS: whom the other end's certificate must come from. Default: "
          "$TESSERA_MTLS_CA_FILE.");
  f.field("mtls_peer_uri_prefix", peer_uri_prefix)
      .help(
          "mTLS: how a URI name in the other end's certificate must begin, as "
          "spiffe://example.org/; its host name then does not matter. Default: "
          "$TESSERA_MTLS_PEER_URI_PREFIX.");
  f.field("require_mtls", require)
      .help("Refuse to run without mTLS. Default: $TESSERA_REQUIRE_MTLS.");
}

Status MtlsConfig::fill_from(const std::map<std::string, std::string>& environment) {
  for (const auto& [name, field] :
       {std::pair("TESSERA_MTLS_CERT_FILE", &cert_file),
        std::pair("TESSERA_MTLS_KEY_FILE", &key_file), std::pair("TESSERA_MTLS_CA_FILE", &ca_file),
        std::pair("TESSERA_MTLS_PEER_URI_PREFIX", &peer_uri_prefix)}) {
    if (field->empty()) *field = variable(environment, name);
  }
  const std::string required = variable(environment, "TESSERA_REQUIRE_MTLS");
  bool value = false;
  if (!required.empty() && !absl::SimpleAtob(required, &value)) {
    return invalid_argument("TESSERA_REQUIRE_MTLS is '", required, "'; required: true or false");
  }
  require = require || value;
  return absl::OkStatus();
}

Status MtlsConfig::validate() const {
  std::vector<std::string> missing;
  if (cert_file.empty()) missing.push_back("--mtls-cert-file");
  if (key_file.empty()) missing.push_back("--mtls-key-file");
  if (ca_file.empty()) missing.push_back("--mtls-ca-file");
  if (!missing.empty() && missing.size() < 3) {
    return invalid_argument(
        "mTLS needs a certificate, a key and a CA; missing: ", absl::StrJoin(missing, ", "),
        " (or the TESSERA_MTLS_ variable of the same name)");
  }
  if (!peer_uri_prefix.empty()) {
    if (!enabled()) {
      return invalid_argument("--mtls-peer-uri-prefix is given without certificates");
    }
    // Without the slash spiffe://x.org would let spiffe://x.org.evil in.
    if (!peer_uri_prefix.ends_with("/")) {
      return invalid_argument("--mtls-peer-uri-prefix is '", peer_uri_prefix,
                              "'; required: something that ends in '/'");
    }
  }
  if (require && !enabled()) {
    return failed_precondition(
        "--require-mtls is given, but no certificates: give --mtls-cert-file, --mtls-key-file and "
        "--mtls-ca-file");
  }
  return absl::OkStatus();
}

Status MtlsConfig::check_files() const {
  RETURN_IF_ERROR(validate());
  if (!enabled()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto chain, read_certificates("certificate", cert_file));
  ASSIGN_OR_RETURN(const Key key, read_key(key_file));
  ASSIGN_OR_RETURN(const auto authorities, read_certificates("CA certificate", ca_file));
  if (X509_check_private_key(chain[0].get(), key.get()) != 1) {
    ERR_clear_error();
    return invalid_argument("mTLS: the key in ", key_file, " is not that of the certificate in ",
                            cert_file);
  }
  RETURN_IF_ERROR(check_dates(cert_file, chain[0].get()));
  // Of several CAs, old ones may have run out.
  Status dates;
  for (const Certificate& authority : authorities) {
    dates = check_dates(ca_file, authority.get());
    if (dates.ok()) break;
  }
  return dates;
}

Status MtlsConfig::check_issuer() const {
  RETURN_IF_ERROR(check_files());
  ASSIGN_OR_RETURN(const auto chain, read_certificates("certificate", cert_file));
  const std::unique_ptr<X509_STORE, decltype(&X509_STORE_free)> store(X509_STORE_new(),
                                                                      X509_STORE_free);
  const std::unique_ptr<X509_STORE_CTX, decltype(&X509_STORE_CTX_free)> context(
      X509_STORE_CTX_new(), X509_STORE_CTX_free);
  X509_STORE_load_file(store.get(), ca_file.c_str());
  STACK_OF(X509)* between = sk_X509_new_null();
  for (size_t i = 1; i < chain.size(); ++i) sk_X509_push(between, chain[i].get());
  X509_STORE_CTX_init(context.get(), store.get(), chain[0].get(), between);
  const bool good = X509_verify_cert(context.get()) == 1;
  const int verdict = X509_STORE_CTX_get_error(context.get());
  sk_X509_free(between);
  ERR_clear_error();
  if (good) return absl::OkStatus();
  return failed_precondition("it does not come from a CA in ", ca_file, ": ",
                             X509_verify_cert_error_string(verdict));
}

std::map<std::string, std::string> MtlsConfig::environment() const {
  std::map<std::string, std::string> variables;
  if (enabled()) {
    variables = {{"TESSERA_MTLS_CERT_FILE", cert_file},
                 {"TESSERA_MTLS_KEY_FILE", key_file},
                 {"TESSERA_MTLS_CA_FILE", ca_file}};
  }
  if (!peer_uri_prefix.empty()) variables["TESSERA_MTLS_PEER_URI_PREFIX"] = peer_uri_prefix;
  if (require) variables.insert({"TESSERA_REQUIRE_MTLS", std::string("true")});
  return variables;
}

Result<HostPort> parse_host_port(const std::string& address) {
  const size_t colon = address.rfind(':');
  HostPort parsed;
  const bool has_port = colon != std::string::npos && colon > 0 &&
                        absl::SimpleAtoi(address.substr(colon + 1), &parsed.port) &&
                        parsed.port >= 0 && parsed.port <= 65535;
  if (has_port) parsed.host = address.substr(0, colon);
  if (parsed.host.starts_with("[") && parsed.host.ends_with("]")) {
    parsed.host = parsed.host.substr(1, parsed.host.size() - 2);
  } else if (parsed.host.find(':') != std::string::npos) {
    parsed.host.clear();
  }
  if (parsed.host.empty()) {
    return invalid_argument("'", address,
                            "' is no address; required: host:port, or [IPv6 address]:port");
  }
  return parsed;
}

std::string to_string(const HostPort& address) {
  const bool is_v6 = address.host.find(':') != std::string::npos;
  return str_cat(is_v6 ? "[" : "", address.host, is_v6 ? "]:" : ":", address.port);
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace tessera::coord
