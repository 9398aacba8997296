#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "tessera/base/thread.h"

namespace tessera::storage_testing {

/// What goes wrong with one request.
enum class Fault {
  kAnswer,       // not passed on: Trouble::answer is the answer
  kCutRequest,   // the connection ends in the middle of the request's body
  kCutAnswer,    // passed on; the connection ends in the middle of the answer's body
  kDropAnswer,   // passed on, and done; the connection ends without an answer
  kStallAnswer,  // passed on; half of the answer, and then nothing more
  kFlipAnswer,   // passed on; one bit of the answer's body is wrong
  kFlipRequest,  // one bit of the request's body is wrong, which the store notices, as S3 does
};

struct Trouble {
  Fault fault = Fault::kAnswer;
  int times = 1;
  std::string only;                          // what "METHOD /target" must contain
  std::string answer = "503 Slow Down\r\n";  // status line and headers
  std::string body = "<Error><Code>SlowDown</Code><Message>made up</Message></Error>";
};

/// For tests: an HTTP proxy on loopback that passes requests on to a port there, and lets some go
/// wrong. One request a connection. Thread-safe.
class FaultProxy {
 public:
  explicit FaultProxy(int target_port);
  ~FaultProxy();

  int port() const { return port_; }
  /// The next requests that fit go wrong so; several wait for each other.
  void add(Trouble trouble);
  /// Every n-th request goes wrong, by turns in each way that a client can outlive; 0: none.
  void every(int n);
  /// "METHOD /target" of every request since the last call.
  std::vector<std::string> take_requests();
  /// Troubles that struck.
  int struck() const;

 private:
  struct Request;
  void accept_all();
  void serve(int client);
  std::string forward(const Request& request);
  /// The trouble of a request, if any.
  bool next_trouble(const std::string& line, Trouble* trouble);
  void answer(int client, const Request& request, const Trouble& trouble);

  const int target_port_;
  int listener_ = -1;
  int port_ = 0;
  mutable std::mutex mutex_;  // guards what follows
  std::deque<Trouble> troubles_;
  std::vector<std::string> requests_;
  int every_ = 0, count_ = 0, struck_ = 0;
  std::vector<int> open_;  // clients' sockets
  bool closing_ = false;
  std::vector<Thread> threads_;
  Thread acceptor_;  // the last, so that it is joined first
};

}  // namespace tessera::storage_testing
