#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "tessera/base/status.h"

namespace tessera {

/// What a connection may take before it counts as dead.
struct HttpLimits {
  absl::Duration connect = absl::Seconds(10);
  /// Fewer bytes a second than this, for as long as that, ends a transfer.
  int64_t least_bytes_per_s = 1024;
  absl::Duration slow = absl::Seconds(30);
};

/// AWS signature version 4. Empty key: not signed.
struct HttpSigning {
  std::string access_key, secret_key, region, service;
};

struct HttpRequest {
  std::string method;
  std::string url;                   // encoded
  std::vector<std::string> headers;  // "name: value"
  std::span<const std::byte> body;
  /// Takes the body of a successful answer instead of HttpResponse::body; a longer one is an error.
  std::span<std::byte> out;
  bool into_out = false;  // whether `out` is meant
  absl::Duration timeout = absl::InfiniteDuration();
  const HttpSigning* signing = nullptr;
};

struct HttpResponse {
  int code = 0;
  std::map<std::string, std::string, std::less<>> headers;  // names in lower case
  std::string body;
  int64_t received = 0;  // bytes put into `out`

  /// Empty when there is none.
  std::string header(std::string_view name) const;
};

/// Sends requests over connections that stay open. Any thread, any number at once.
///
/// TLS certificates and host names are verified. Proxies only as the environment says (https_proxy
/// and the like). Redirects are not followed.
class HttpClient {
 public:
  explicit HttpClient(const HttpLimits& limits);
  ~HttpClient();

  /// Any answer of the server is OK, whatever its code. Errors: UNAVAILABLE when another try may
  /// help (no connection, cut, too slow), FAILED_PRECONDITION when none will (a certificate that is
  /// not trusted, a bad URL). `response` holds what came, in either case.
  Status send(const HttpRequest& request, HttpResponse* response);

 private:
  class Handle;
  std::unique_ptr<Handle> take();
  void give_back(std::unique_ptr<Handle> handle);

  const HttpLimits limits_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Handle>> idle_;  // guarded by mutex_
};

/// Everything but letters, digits and -_.~ as %XX; slashes too unless they are kept.
std::string percent_encode(std::string_view text, bool keep_slashes);

}  // namespace tessera
