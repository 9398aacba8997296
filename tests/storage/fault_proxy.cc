#include "tests/storage/fault_proxy.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "tessera/base/status.h"
#include "tessera/storage/s3_messages.h"

namespace tessera::storage_testing {
namespace {

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void send_all(int socket, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    text.remove_prefix(static_cast<size_t>(sent));
  }
}

/// Appends what comes; false at the end.
bool receive(int socket, std::string* text) {
  char buffer[1 << 16];
  const ssize_t got = ::recv(socket, buffer, sizeof(buffer), 0);
  if (got <= 0) return false;
  text->append(buffer, static_cast<size_t>(got));
  return true;
}

/// The value of a header in a head; empty without it.
std::string header(const std::string& head, std::string_view name) {
  std::string lower = head;
  absl::AsciiStrToLower(&lower);
  const size_t at = lower.find(str_cat("\r\n", name, ":"));
  if (at == std::string::npos) return "";
  const size_t start = at + name.size() + 3;
  std::string value = head.substr(start, head.find("\r\n", start) - start);
  absl::StripAsciiWhitespace(&value);
  return value;
}

void drop_header(std::string* head, std::string_view name) {
  std::string lower = *head;
  absl::AsciiStrToLower(&lower);
  const size_t at = lower.find(str_cat("\r\n", name, ":"));
  if (at != std::string::npos) head->erase(at, head->find("\r\n", at + 2) - at);
}

/// Ends a connection with a reset, as one that breaks.
void cut(int socket) {
  const linger now{1, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

}  // namespace

struct FaultProxy::Request {
  std::string head;  // with the empty line at its end
  std::string body;
  std::string line;  // "METHOD /target"
};

FaultProxy::FaultProxy(int target_port) : target_port_(target_port) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof(address);
  CHECK(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0);
  CHECK(::listen(listener_, 64) == 0);
  CHECK(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port_ = ntohs(address.sin_port);
  acceptor_ = Thread("proxy", [this] { accept_all(); });
}

FaultProxy::~FaultProxy() {
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  ::close(listener_);
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    for (const int socket : open_) ::shutdown(socket, SHUT_RDWR);
  }
  threads_.clear();
}

void FaultProxy::add(Trouble trouble) {
  const std::lock_guard lock(mutex_);
  troubles_.push_back(std::move(trouble));
}

void FaultProxy::every(int n) {
  const std::lock_guard lock(mutex_);
  every_ = n;
}

std::vector<std::string> FaultProxy::take_requests() {
  const std::lock_guard lock(mutex_);
  return std::exchange(requests_, {});
}

int FaultProxy::struck() const {
  const std::lock_guard lock(mutex_);
  return struck_;
}

void FaultProxy::accept_all() {
  while (true) {
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    const std::lock_guard lock(mutex_);
    open_.push_back(client);
    threads_.emplace_back("proxy-client", [this, client] {
      serve(client);
      const std::lock_guard lock(mutex_);
      std::erase(open_, client);
      ::close(client);
    });
  }
}

bool FaultProxy::next_trouble(const std::string& line, Trouble* trouble) {
  const std::lock_guard lock(mutex_);
  requests_.push_back(line);
  for (auto it = troubles_.begin(); it != troubles_.end(); ++it) {
    if (line.find(it->only) == std::string::npos) continue;
    *trouble = *it;
    if (--it->times == 0) troubles_.erase(it);
    ++struck_;
    return true;
  }
  if (every_ == 0 || ++count_ % every_ != 0) return false;
  constexpr Fault kWays[] = {Fault::kAnswer, Fault::kCutRequest, Fault::kCutAnswer,
                             Fault::kDropAnswer, Fault::kFlipRequest};
  *trouble = {.fault = kWays[static_cast<size_t>(struck_) % std::size(kWays)]};
  ++struck_;
  return true;
}

void FaultProxy::serve(int client) {
  Request request;
  std::string text;
  size_t end = std::string::npos;
  while ((end = text.find("\r\n\r\n")) == std::string::npos) {
    if (!receive(client, &text)) return;
  }
  request.head = text.substr(0, end + 4);
  request.body = text.substr(end + 4);
  request.line = request.head.substr(0, request.head.find(" HTTP/"));
  Trouble trouble;
  const bool is_trouble = next_trouble(request.line, &trouble);
  const std::string length = header(request.head, "content-length");
  size_t wanted = length.empty() ? 0 : std::stoul(length);
  if (is_trouble && trouble.fault == Fault::kCutRequest) wanted /= 2;
  if (!header(request.head, "expect").empty()) send_all(client, "HTTP/1.1 100 Continue\r\n\r\n");
  while (request.body.size() < wanted) {
    if (!receive(client, &request.body)) return;
  }
  if (is_trouble) {
    answer(client, request, trouble);
  } else {
    send_all(client, forward(request));
  }
}

// A connection of its own, read to its end.
std::string FaultProxy::forward(const Request& request) {
  std::string head = request.head;
  for (const char* name : {"expect", "connection"}) drop_header(&head, name);
  head.insert(head.size() - 2, "Connection: close\r\n");
  const int store = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(target_port_);
  std::string reply;
  if (::connect(store, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    send_all(store, head);
    send_all(store, request.body);
    while (receive(store, &reply)) {
    }
  }
  ::close(store);
  return reply;
}

void FaultProxy::answer(int client, const Request& request, const Trouble& trouble) {
  const auto refuse = [&](std::string_view status, std::string_view body) {
    const bool is_head = request.line.starts_with("HEAD");
    send_all(client, str_cat("HTTP/1.1 ", status, "Connection: close\r\nContent-Length: ",
                             body.size(), "\r\n\r\n", is_head ? "" : body));
  };
  switch (trouble.fault) {
    case Fault::kAnswer:
      return refuse(trouble.answer, trouble.body);
    case Fault::kCutRequest:
      return cut(client);
    case Fault::kFlipRequest: {
      Request changed = request;
      if (!changed.body.empty()) changed.body[changed.body.size() / 2] ^= 1;
      const auto bytes = std::as_bytes(std::span(changed.body));
      if (sha256_hex(bytes) == header(request.head, "x-amz-content-sha256")) {
        return send_all(client, forward(changed));
      }
      return refuse("400 Bad Request\r\n", "<Error><Code>XAmzContentSHA256Mismatch</Code></Error>");
    }
    default:
      break;
  }
  std::string reply = forward(request);
  const size_t body = reply.find("\r\n\r\n") + 4;
  const size_t half = body + (reply.size() - body) / 2;
  switch (trouble.fault) {
    case Fault::kDropAnswer:
      return cut(client);
    case Fault::kFlipAnswer:
      if (half < reply.size()) reply[half] ^= 1;
      return send_all(client, reply);
    case Fault::kStallAnswer: {
      send_all(client, std::string_view(reply).substr(0, half));
      std::string ignored;
      while (receive(client, &ignored)) {  // until the client gives up
      }
      return;
    }
    default:  // kCutAnswer
      send_all(client, std::string_view(reply).substr(0, half));
      return ::shutdown(client, SHUT_WR), void();
  }
}

}  // namespace tessera::storage_testing
