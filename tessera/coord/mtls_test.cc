// Spec 4, "must behave so": (1) the seven failures, (2) partial configs, (3) rotation, (4) nothing
// in the clear, (5) certificates whose host does not match.

#include "tessera/coord/mtls.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <thread>

#include "tessera/base/log.h"
#include "tessera/base/strings.h"
#include "tessera/coord/client.h"
#include "tessera/coord/coord.grpc.pb.h"
#include "tessera/coord/mtls_testing.h"
#include "tessera/coord/mtls_watch.h"
#include "tessera/coord/server.h"

namespace tessera::coord {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string message(const Status& status) { return std::string(from_absl(status.message())); }

bool resolves(const char* name) {
  addrinfo* found = nullptr;
  const bool known = getaddrinfo(name, nullptr, nullptr, &found) == 0;
  if (found != nullptr) freeaddrinfo(found);
  return known;
}

class Mtls : public testing::Test {
 protected:
  Mtls() {
    folder_ = (std::filesystem::temp_directory_path() / "mtls-XXXXXX").string();
    CHECK(mkdtemp(folder_.data()) != nullptr);
    authority_ = std::make_unique<TestAuthority>(folder_, "good");
    stranger_ = std::make_unique<TestAuthority>(folder_, "stranger");
    authority_->issue("server", {.name = "server"});
    authority_->issue("client", {.name = "client"});
  }
  ~Mtls() override {
    server_ = nullptr;
    std::filesystem::remove_all(folder_);
  }

  MtlsConfig config(const std::string& file, const std::string& prefix = "") const {
    return {.cert_file = folder_ + "/" + file + ".crt",
            .key_file = folder_ + "/" + file + ".key",
            .ca_file = authority_->ca_file(),
            .peer_uri_prefix = prefix};
  }
  void start(const MtlsConfig& mtls) {
    Result<std::unique_ptr<Server>> server = Server::start({.mtls = mtls}, files_, clock_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = std::move(*server);
    port_ = server_->port();
  }
  Result<std::unique_ptr<Client>> connect(const MtlsConfig& mtls,
                                          const std::string& host = "127.0.0.1") {
    return Client::connect({.coordinator = str_cat(host, ":", port_),
                            .connect_timeout = absl::Seconds(30),
                            .mtls = mtls},
                           clock_);
  }
  // What a client with this config is told. It must not be that time ran out.
  std::string told(const MtlsConfig& mtls, const std::string& host = "127.0.0.1") {
    const auto client = connect(mtls, host);
    if (client.ok()) return "";
    EXPECT_NE(client.status().code(), absl::StatusCode::kDeadlineExceeded) << client.status();
    return message(client.status());
  }

  PosixFileSystem files_;
  RealClock clock_;
  std::string folder_;
  std::unique_ptr<TestAuthority> authority_, stranger_;
  std::unique_ptr<Server> server_;
  int port_ = 0;
};

TEST_F(Mtls, LetsInWhoShowsACertificate) {
  start(config("server"));
  const auto client = connect(config("client"));
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_TRUE((*client)->insert("a", "b").ok());
  EXPECT_TRUE((*client)->shutdown().ok());
}

TEST_F(Mtls, Spec41RefusesAPlaintextClient) {
  start(config("server"));
  EXPECT_THAT(told({}), AllOf(HasSubstr("requires mTLS"), HasSubstr("--mtls-cert-file")));
}

TEST_F(Mtls, Spec41RefusesAPlaintextServer) {
  start({});
  EXPECT_THAT(told(config("client")), HasSubstr("does not speak TLS"));
}

TEST_F(Mtls, Spec41RefusesAServerOfAnotherCa) {
  start(config("server"));
  MtlsConfig other = config("client");
  other.ca_file = stranger_->ca_file();
  EXPECT_THAT(told(other), HasSubstr("certificate (CN = server) does not come from a CA in " +
                                     stranger_->ca_file()));
}

TEST_F(Mtls, Spec41RefusesAClientOfAnotherCa) {
  start(config("server"));
  stranger_->issue("outsider", {});
  EXPECT_THAT(told(config("outsider")),
              AllOf(HasSubstr("refused the certificate in " + folder_ + "/outsider.crt"),
                    HasSubstr("it does not come from a CA in " + authority_->ca_file())));
}

// Our client always has one, so gRPC's own plays the attacker.
TEST_F(Mtls, Spec41RefusesAClientWithoutACertificate) {
  start(config("server"));
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = *files_.read_file(authority_->ca_file());
  const auto stub = wire::Coordinator::NewStub(
      grpc::CreateChannel(str_cat("127.0.0.1:", port_), grpc::SslCredentials(options)));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  wire::Reply reply;
  const grpc::Status status = stub->Call(&context, wire::Request(), &reply);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
  // The same with one is answered, so it was the certificate.
  options.pem_cert_chain = *files_.read_file(folder_ + "/client.crt");
  options.pem_private_key = *files_.read_file(folder_ + "/client.key");
  const auto known = wire::Coordinator::NewStub(
      grpc::CreateChannel(str_cat("127.0.0.1:", port_), grpc::SslCredentials(options)));
  grpc::ClientContext second;
  second.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  EXPECT_TRUE(known->Call(&second, wire::Request(), &reply).ok());
}

TEST_F(Mtls, Spec41RefusesAnExpiredCertificate) {
  authority_->issue("old", {.name = "old", .valid_from_s = -7200, .valid_until_s = -3600});
  // One's own is noticed before anything is sent.
  EXPECT_THAT(message(config("old").check_files()),
              AllOf(HasSubstr("old.crt expired at"), HasSubstr("Renew it")));
  EXPECT_FALSE(Server::start({.mtls = config("old")}, files_, clock_).ok());
  // The other end's: it may run out while a process runs.
  start(config("server"));
  EXPECT_THAT(message(probe({"127.0.0.1", port_}, config("old"), absl::Seconds(30))),
              AllOf(HasSubstr("refused the certificate"), HasSubstr("old.crt expired at")));
  authority_->issue("server", {.name = "server", .valid_from_s = -7200, .valid_until_s = -3600});
  std::string seen;
  while (seen.empty())
    seen = message(probe({"127.0.0.1", port_}, config("client"), absl::Seconds(30)));
  EXPECT_THAT(seen, HasSubstr("the coordinator's certificate (CN = server) expired at"));
}

TEST_F(Mtls, Spec41RefusesAServerOfAnotherHost) {
  authority_->issue("elsewhere", {.name = "elsewhere", .alternative_names = "DNS:example.org"});
  start(config("elsewhere"));
  // A machine without /etc/hosts may not know its own name.
  std::vector<const char*> hosts = {"127.0.0.1"};
  if (resolves("localhost")) hosts.push_back("localhost");
  for (const char* host : hosts) {
    EXPECT_THAT(told(config("client"), host),
                AllOf(HasSubstr(str_cat("is for other hosts than ", host)),
                      HasSubstr("DNS:example.org"), HasSubstr("--mtls-peer-uri-prefix")));
  }
}

TEST_F(Mtls, Spec41RefusesAnotherUriPrefix) {
  authority_->issue("here", {.alternative_names = "URI:spiffe://here/job"});
  authority_->issue("there", {.alternative_names = "URI:spiffe://here.evil/job"});
  start(config("there"));
  EXPECT_THAT(told(config("here", "spiffe://here/")),
              AllOf(HasSubstr("no URI name that begins with spiffe://here/"),
                    HasSubstr("URI:spiffe://here.evil/job")));
  // The server asks the same of its clients, and its log says why it refused one.
  std::mutex mutex;
  std::string lines;
  LogSink sink(
      [&](std::string_view line) {
        std::lock_guard lock(mutex);
        lines += line;
      },
      clock_);
  const ScopedLogSink scoped(sink);
  start(config("here", "spiffe://here/"));
  EXPECT_THAT(told(config("there", "spiffe://here/")), HasSubstr("refused the certificate"));
  server_ = nullptr;
  EXPECT_THAT(lines, HasSubstr("refused a connection: no URI name begins with spiffe://here/; the "
                               "certificate's URI names: spiffe://here.evil/job"));
}

TEST_F(Mtls, Spec41RefusesAPrefixWithoutASlash) {
  const Status status = config("client", "spiffe://here").validate();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(message(status), HasSubstr("ends in '/'"));
  EXPECT_FALSE(MtlsConfig{.peer_uri_prefix = "spiffe://here/"}.validate().ok());
}

TEST_F(Mtls, Spec42RefusesHalfAConfig) {
  for (int missing = 0; missing < 3; ++missing) {
    MtlsConfig half = config("client");
    (missing == 0 ? half.cert_file : missing == 1 ? half.key_file : half.ca_file).clear();
    const char* names[] = {"--mtls-cert-file", "--mtls-key-file", "--mtls-ca-file"};
    EXPECT_THAT(message(half.validate()), HasSubstr(str_cat("missing: ", names[missing])));
  }
}

TEST_F(Mtls, Spec42RefusesToRunWithoutWhereItIsRequired) {
  MtlsConfig required;
  required.require = true;
  EXPECT_THAT(message(required.validate()), HasSubstr("--require-mtls is given"));
  EXPECT_FALSE(Server::start({.mtls = required}, files_, clock_).ok());
  port_ = 1;
  EXPECT_THAT(told(required), HasSubstr("--require-mtls is given"));
}

TEST_F(Mtls, NamesAFileThatIsNotThereOrNotWhatItShouldBe) {
  MtlsConfig wrong = config("client");
  wrong.cert_file = folder_ + "/none.crt";
  EXPECT_THAT(message(wrong.check_files()), HasSubstr("none.crt"));
  wrong = config("client");
  wrong.key_file = wrong.cert_file;
  EXPECT_THAT(message(wrong.check_files()), HasSubstr("client.crt holds no private key"));
  wrong = config("client");
  wrong.key_file = folder_ + "/server.key";
  EXPECT_THAT(message(wrong.check_files()), HasSubstr("server.key is not that of the certificate"));
  wrong = config("client");
  wrong.ca_file = folder_ + "/client.key";
  EXPECT_THAT(message(wrong.check_files()), HasSubstr("client.key holds no CA certificate"));
}

TEST_F(Mtls, IsConfiguredByTheEnvironmentUnlessFlagsSayOtherwise) {
  MtlsConfig flags;
  flags.key_file = "flag.key";
  ASSERT_TRUE(flags
                  .fill_from({{"TESSERA_MTLS_CERT_FILE", "env.crt"},
                              {"TESSERA_MTLS_KEY_FILE", "env.key"},
                              {"TESSERA_MTLS_CA_FILE", "env.ca"},
                              {"TESSERA_MTLS_PEER_URI_PREFIX", "spiffe://x/"},
                              {"TESSERA_REQUIRE_MTLS", "true"}})
                  .ok());
  EXPECT_EQ(flags.cert_file, "env.crt");
  EXPECT_EQ(flags.key_file, "flag.key");
  EXPECT_TRUE(flags.require);
  MtlsConfig child;
  ASSERT_TRUE(child.fill_from(flags.environment()).ok());
  EXPECT_EQ(child.environment(), flags.environment());
  EXPECT_FALSE(child.fill_from({{"TESSERA_REQUIRE_MTLS", "perhaps"}}).ok());
}

TEST_F(Mtls, Spec43TakesRotatedCertificatesWhileItRuns) {
  start(config("server"));
  const auto before = connect(config("client"));
  ASSERT_TRUE(before.ok()) << before.status();
  // Everything is of a new authority from now on.
  const std::string old_ca = *files_.read_file(authority_->ca_file());
  TestAuthority next(folder_, "next");
  next.issue("server", {.name = "second server"});
  next.issue("client2", {.name = "second client"});
  const std::string new_ca = *files_.read_file(next.ca_file());
  ASSERT_TRUE(files_.write_file_atomic(authority_->ca_file(), new_ca).ok());
  MtlsConfig second = config("client2");
  while (!probe({"127.0.0.1", port_}, second, absl::Seconds(30)).ok()) {
    clock_.sleep(absl::Milliseconds(50));
  }
  // Who is in stays in.
  EXPECT_TRUE((*before)->insert("a", "b").ok());
  // Who comes with what is not valid any more stays out.
  ASSERT_TRUE(files_.write_file_atomic(folder_ + "/old.ca.crt", old_ca).ok());
  MtlsConfig old = config("client");
  old.ca_file = folder_ + "/old.ca.crt";
  EXPECT_THAT(message(probe({"127.0.0.1", port_}, old, absl::Seconds(30))),
              HasSubstr("(CN = second server) does not come from a CA"));
  old.ca_file = authority_->ca_file();
  EXPECT_THAT(message(probe({"127.0.0.1", port_}, old, absl::Seconds(30))),
              HasSubstr("refused the certificate"));
}

// gRPC refuses all who come then, and logs nothing.
TEST_F(Mtls, Spec43CertificatesThatWereDamagedWhileItRunsAreWarnedOf) {
  std::mutex mutex;
  std::string log;
  const auto logged = [&](const std::string& text, int times) {
    for (int i = 0; i < 1500; ++i, clock_.sleep(absl::Milliseconds(20))) {
      const std::lock_guard lock(mutex);
      int found = 0;
      for (size_t at = log.find(text); at != log.npos; at = log.find(text, at + 1)) ++found;
      if (found >= times) return found == times;
    }
    return false;
  };
  LogSink sink(
      [&](std::string_view text) {
        const std::lock_guard lock(mutex);
        log += text;
      },
      clock_);
  const ScopedLogSink scoped(sink);
  const MtlsConfig mtls = config("server");
  const MtlsWatch watch(mtls, absl::Milliseconds(10));
  const std::string good = *files_.read_file(mtls.cert_file);
  ASSERT_TRUE(files_.write_file_atomic(mtls.cert_file, "garbage").ok());
  EXPECT_TRUE(logged("nobody new can connect until this is mended: mTLS: ", 1)) << log;
  EXPECT_TRUE(logged(mtls.cert_file, 1)) << log;
  ASSERT_TRUE(files_.write_file_atomic(mtls.cert_file, good).ok());
  EXPECT_TRUE(logged("good again", 1)) << log;
}

TEST_F(Mtls, Spec45LetsInByUriWhereTheHostDoesNotMatch) {
  authority_->issue("a", {.alternative_names = "URI:spiffe://cluster/coordinator"});
  authority_->issue("b", {.alternative_names = "URI:spiffe://cluster/worker/7"});
  start(config("a", "spiffe://cluster/"));
  const auto client = connect(config("b", "spiffe://cluster/"));
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_TRUE((*client)->insert("a", "b").ok());
  EXPECT_THAT(told(config("b")), HasSubstr("is for other hosts"));
}

// Everything between client and server goes through this, which keeps a copy.
class Tap {
 public:
  explicit Tap(int target) : target_(target) {
    listening_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = loopback(0);
    CHECK(bind(listening_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
    CHECK(listen(listening_, 16) == 0);
    socklen_t size = sizeof(address);
    getsockname(listening_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    accepts_ = std::thread([this] { accept_all(); });
  }
  ~Tap() {
    shutdown(listening_, SHUT_RDWR);
    accepts_.join();
    for (std::thread& thread : relays_) thread.join();
    close(listening_);
  }
  int port() const { return port_; }
  std::string seen() {
    std::lock_guard lock(mutex_);
    return seen_;
  }

 private:
  static sockaddr_in loopback(int port) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
  void accept_all() {
    while (true) {
      const int from = accept(listening_, nullptr, nullptr);
      if (from < 0) return;
      const int to = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      sockaddr_in address = loopback(target_);
      CHECK(::connect(to, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
      relays_.emplace_back([this, from, to] { relay(from, to); });
    }
  }
  void relay(int a, int b) {
    pollfd ends[2] = {{.fd = a, .events = POLLIN, .revents = 0},
                      {.fd = b, .events = POLLIN, .revents = 0}};
    bool open = true;
    while (open && poll(ends, 2, -1) > 0) {
      for (int i = 0; i < 2; ++i) {
        if (ends[i].revents == 0) continue;
        char bytes[65536];
        const ssize_t count = recv(ends[i].fd, bytes, sizeof(bytes), 0);
        if (count <= 0) {
          open = false;
          break;
        }
        {
          std::lock_guard lock(mutex_);
          seen_.append(bytes, static_cast<size_t>(count));
        }
        send(ends[1 - i].fd, bytes, static_cast<size_t>(count), MSG_NOSIGNAL);
      }
    }
    close(a);
    close(b);
  }

  const int target_;
  int listening_ = -1, port_ = 0;
  std::thread accepts_;
  std::vector<std::thread> relays_;
  std::mutex mutex_;
  std::string seen_;
};

TEST_F(Mtls, Spec44ShowsNothingOnTheWire) {
  for (const bool encrypted : {false, true}) {
    start(encrypted ? config("server") : MtlsConfig());
    Tap tap(port_);
    port_ = tap.port();
    {
      const auto client = connect(encrypted ? config("client") : MtlsConfig());
      ASSERT_TRUE(client.ok()) << client.status();
      ASSERT_TRUE((*client)->insert("key-to-look-for", "value-to-look-for").ok());
      ASSERT_EQ(*(*client)->try_get("key-to-look-for"), "value-to-look-for");
      ASSERT_TRUE((*client)->shutdown().ok());
    }
    server_ = nullptr;
    const std::string seen = tap.seen();
    EXPECT_GT(seen.size(), 500u);
    for (const char* text : {"key-to-look-for", "value-to-look-for", "tessera.coord.wire"}) {
      // Without encryption the tap does see them, so that it would notice.
      EXPECT_EQ(seen.find(text) == std::string::npos, encrypted) << text;
    }
  }
}

}  // namespace
}  // namespace tessera::coord
