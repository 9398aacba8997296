#include <grpc/support/log.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "tessera/base/log.h"
#include "tessera/base/strings.h"
#include "tessera/coord/grpc_credentials_internal.h"

namespace tessera::coord {
namespace {

using namespace grpc::experimental;  // gRPC 1.51 has nothing else that reads files again

constexpr unsigned kReadAgainSeconds = 1;

// The other end's certificate has a URI name that begins with the prefix.
class UriPrefixVerifier final : public ExternalCertificateVerifier {
 public:
  UriPrefixVerifier(std::string prefix, bool logs) : prefix_(std::move(prefix)), logs_(logs) {}

  bool Verify(TlsCustomVerificationCheckRequest* request, std::function<void(grpc::Status)>,
              grpc::Status* status) override {
    std::vector<std::string> names;
    for (const grpc::string_ref& name : request->uri_names()) {
      names.emplace_back(name.data(), name.size());
      if (names.back().starts_with(prefix_)) return true;
    }
    const std::string seen = names.empty() ? "none" : absl::StrJoin(names, ", ");
    *status = grpc::Status(
        grpc::StatusCode::UNAUTHENTICATED,
        str_cat("no URI name begins with ", prefix_, "; the certificate's URI names: ", seen));
    if (logs_) log_warning("coordinator: refused a connection: ", status->error_message());
    return true;
  }
  void Cancel(TlsCustomVerificationCheckRequest*) override {}

 private:
  const std::string prefix_;
  const bool logs_;
};

void configure(const MtlsConfig& config, bool is_server, TlsCredentialsOptions& options) {
  options.set_certificate_provider(std::make_shared<FileWatcherCertificateProvider>(
      config.key_file, config.cert_file, config.ca_file, kReadAgainSeconds));
  options.watch_identity_key_cert_pairs();
  options.watch_root_certs();
  if (!config.peer_uri_prefix.empty()) {
    options.set_certificate_verifier(
        ExternalCertificateVerifier::Create<UriPrefixVerifier>(config.peer_uri_prefix, is_server));
    options.set_check_call_host(false);  // only the verifier's judgement counts
  }
}

}  // namespace

std::shared_ptr<grpc::ChannelCredentials> channel_credentials(const MtlsConfig& config) {
  if (!config.enabled()) return grpc::InsecureChannelCredentials();
  TlsChannelCredentialsOptions options;
  configure(config, /*is_server=*/false, options);
  options.set_verify_server_certs(true);
  return TlsCredentials(options);
}

std::shared_ptr<grpc::ServerCredentials> server_credentials(const MtlsConfig& config) {
  if (!config.enabled()) return grpc::InsecureServerCredentials();
  TlsServerCredentialsOptions options(nullptr);
  configure(config, /*is_server=*/true, options);
  options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  return TlsServerCredentials(options);
}

grpc::ChannelArguments channel_arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  return arguments;
}

void quiet_grpc() {
  static std::once_flag once;
  std::call_once(once, [] {
    gpr_set_log_function([](gpr_log_func_args* line) {
      if (line->severity >= GPR_LOG_SEVERITY_ERROR) log_debug("gRPC: ", line->message);
    });
  });
}

}  // namespace tessera::coord
