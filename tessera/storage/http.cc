#include "tessera/storage/http.h"

#include <curl/curl.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"

namespace tessera {
namespace {

constexpr size_t kMostBodyBytes = 64 << 20;  // of an answer that is text

/// One answer being received.
struct Receiver {
  CURL* curl;
  const HttpRequest& request;
  HttpResponse& response;
  bool too_long = false;

  static size_t on_body(char* data, size_t, size_t bytes, void* self) {
    return static_cast<Receiver*>(self)->body({data, bytes});
  }
  static size_t on_header(char* data, size_t, size_t bytes, void* self) {
    static_cast<Receiver*>(self)->header({data, bytes});
    return bytes;
  }

  size_t body(std::string_view data) {
    long code = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &code);
    if (request.into_out && code / 100 == 2) {
      const size_t at = static_cast<size_t>(response.received);
      too_long = data.size() > request.out.size() - at;
      if (too_long) return 0;
      std::memcpy(request.out.data() + at, data.data(), data.size());
      response.received += std::ssize(data);
      return data.size();
    }
    too_long = response.body.size() + data.size() > kMostBodyBytes;
    if (too_long) return 0;
    response.body.append(data);
    return data.size();
  }

  void header(std::string_view line) {
    if (line.starts_with("HTTP/")) response.headers.clear();  // after a 100 Continue
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return;
    std::string name(line.substr(0, colon));
    std::string value(line.substr(colon + 1));
    absl::AsciiStrToLower(&name);
    absl::StripAsciiWhitespace(&value);
    response.headers[name] = value;
  }
};

bool may_help_to_retry(CURLcode code) {
  switch (code) {
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_WRITE_ERROR:
      return false;
    default:
      return true;
  }
}

long milliseconds(absl::Duration duration) {
  const int64_t ms = absl::ToInt64Milliseconds(std::min(duration, absl::Hours(24)));
  return static_cast<long>(std::max<int64_t>(ms, 1));
}

void set_limits(CURL* curl, const HttpLimits& limits, absl::Duration timeout) {
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
  curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(limits.connect));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, static_cast<long>(limits.least_bytes_per_s));
  const long slow =
      static_cast<long>(absl::ToInt64Seconds(absl::Ceil(limits.slow, absl::Seconds(1))));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, slow);
  if (timeout < absl::Hours(24)) {
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, milliseconds(timeout));
  }
}

void set_request(CURL* curl, const HttpRequest& request) {
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
  if (request.method == "HEAD") {
    curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
  } else if (request.method == "PUT" || request.method == "POST") {
    curl_easy_setopt(curl, CURLOPT_POST, 1L);
    const char* data = reinterpret_cast<const char*>(request.body.data());
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.empty() ? "" : data);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  } else {
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
  if (request.signing == nullptr || request.signing->access_key.empty()) return;
  const HttpSigning& signing = *request.signing;
  const std::string provider = str_cat("aws:amz:", signing.region, ":", signing.service);
  curl_easy_setopt(curl, CURLOPT_AWS_SIGV4, provider.c_str());
  curl_easy_setopt(curl, CURLOPT_USERNAME, signing.access_key.c_str());
  curl_easy_setopt(curl, CURLOPT_PASSWORD, signing.secret_key.c_str());
}

}  // namespace

class HttpClient::Handle {
 public:
  Handle() : curl_(curl_easy_init()) { CHECK(curl_ != nullptr); }
  ~Handle() { curl_easy_cleanup(curl_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  CURL* get() const { return curl_; }

 private:
  CURL* curl_;
};

std::string HttpResponse::header(std::string_view name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

HttpClient::HttpClient(const HttpLimits& limits) : limits_(limits) {
  // Once a process, before any handle; the library counts further calls.
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  CHECK(initialised == CURLE_OK);
}

HttpClient::~HttpClient() = default;

std::unique_ptr<HttpClient::Handle> HttpClient::take() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return std::make_unique<Handle>();
  std::unique_ptr<Handle> handle = std::move(idle_.back());
  idle_.pop_back();
  return handle;
}

void HttpClient::give_back(std::unique_ptr<Handle> handle) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(handle));
}

Status HttpClient::send(const HttpRequest& request, HttpResponse* response) {
  *response = {};
  std::unique_ptr<Handle> handle = take();
  CURL* curl = handle->get();
  curl_easy_reset(curl);  // keeps the connections
  Receiver receiver{curl, request, *response};
  char reason[CURL_ERROR_SIZE] = "";
  curl_slist* headers = nullptr;
  for (const std::string& header : request.headers) {
    headers = curl_slist_append(headers, header.c_str());
  }
  set_limits(curl, limits_, request.timeout);
  set_request(curl, request);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &Receiver::on_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &receiver);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, &Receiver::on_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &receiver);
  const CURLcode code = curl_easy_perform(curl);
  long http_code = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &http_code);
  response->code = static_cast<int>(http_code);
  curl_slist_free_all(headers);
  give_back(std::move(handle));
  if (code == CURLE_OK) return absl::OkStatus();
  const std::string message =
      str_cat(request.method, " ", request.url, ": ",
              receiver.too_long ? "the answer is longer than what was asked for"
                                : (reason[0] != '\0' ? reason : curl_easy_strerror(code)));
  return may_help_to_retry(code) ? absl::UnavailableError(message)
                                 : absl::FailedPreconditionError(message);
}

std::string percent_encode(std::string_view text, bool keep_slashes) {
  std::string encoded;
  for (const char c : text) {
    const bool plain = absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' ||
                       c == '.' || c == '~' || (c == '/' && keep_slashes);
    if (plain) {
      encoded += c;
    } else {
      absl::StrAppendFormat(&encoded, "%%%02X",
                            static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
  }
  return encoded;
}

}  // namespace tessera
