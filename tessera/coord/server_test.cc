#include "tessera/coord/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <thread>

#include "tessera/base/strings.h"
#include "tessera/coord/client.h"
#include "tessera/coord/cluster_check.h"
#include "tessera/coord/state.h"

namespace tessera::coord {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string message(const Status& status) { return std::string(from_absl(status.message())); }

class ServerTest : public testing::Test {
 protected:
  ~ServerTest() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  void start(ServerOptions options) {
    if (server_) options.bind = address();
    Result<std::unique_ptr<Server>> server = Server::start(options, files_, clock_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = nullptr;
    server_ = std::move(*server);
    port_ = server_->port();
    options_ = options;
  }
  // As after a crash: a new one at the same address.
  void restart() {
    ServerOptions options = options_;
    options.bind = address();
    server_ = nullptr;
    Result<std::unique_ptr<Server>> server = Server::start(options, files_, clock_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = std::move(*server);
  }
  std::string address() const { return str_cat("127.0.0.1:", port_); }
  std::string journal() {
    folder_ = (std::filesystem::temp_directory_path() / "server-XXXXXX").string();
    CHECK(mkdtemp(folder_.data()) != nullptr);
    return folder_ + "/journal";
  }
  Result<std::unique_ptr<Client>> connect(int process, ClientOptions options = {}) {
    options.coordinator = address();
    options.process = process;
    options.processes = options_.processes;
    return Client::connect(options, clock_);
  }
  // One client a process, each as from a process of its own.
  std::vector<std::unique_ptr<Client>> connect_all() {
    std::vector<std::future<Result<std::unique_ptr<Client>>>> futures;
    for (int process = 0; process < options_.processes; ++process) {
      futures.push_back(
          std::async(std::launch::async, [this, process] { return connect(process); }));
    }
    std::vector<std::unique_ptr<Client>> clients;
    for (auto& future : futures) {
      Result<std::unique_ptr<Client>> client = future.get();
      EXPECT_TRUE(client.ok()) << client.status();
      clients.push_back(client.ok() ? std::move(*client) : nullptr);
    }
    return clients;
  }

  PosixFileSystem files_;
  RealClock clock_;
  std::string folder_;
  ServerOptions options_;
  std::unique_ptr<Server> server_;
  int port_ = 0;
};

TEST_F(ServerTest, ServesKeyValuesOfTenMebibytes) {
  start({.processes = 2});
  const auto clients = connect_all();
  const std::string large(10 << 20, 'x');
  ASSERT_TRUE(clients[0]->insert("large", large).ok());
  EXPECT_EQ(*clients[1]->try_get("large"), large);
  EXPECT_EQ(clients[1]->insert("large", "").code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(clients[1]->try_get("none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(clients[1]->get("none", absl::Milliseconds(20)).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  auto waits =
      std::async(std::launch::async, [&] { return clients[1]->get("later", absl::Seconds(60)); });
  EXPECT_EQ(*clients[0]->increment("later", 3), 3);
  EXPECT_EQ(*waits.get(), "3");
  ASSERT_TRUE(clients[0]->insert("a/1", "x").ok());
  EXPECT_THAT(*clients[1]->list("a/"), ElementsAre(std::pair("a/1", "x")));
  EXPECT_EQ(*clients[1]->erase_prefix("a/"), 1);
  EXPECT_EQ(*clients[1]->erase("large"), 1);
  // More than a message may have: refused, and the connection goes on.
  const Status too_large = clients[0]->insert("huge", std::string(40 << 20, 'x'));
  EXPECT_EQ(too_large.code(), absl::StatusCode::kResourceExhausted) << too_large;
  EXPECT_EQ(*clients[0]->try_get("later"), "3");
}

// The coordinator keeps the replies of calls that may be sent again. A watch that waits for weeks,
// which every client has, must not make it keep all since.
TEST_F(ServerTest, KeepsNoRepliesForAsLongAsAWatchOrAGetWaits) {
  start({.processes = 2});
  const auto clients = connect_all();
  auto waits =
      std::async(std::launch::async, [&] { return clients[0]->get("end", absl::Seconds(600)); });
  clock_.sleep(absl::Milliseconds(50));
  constexpr int kThreads = 4;
  const size_t each = StateOptions().max_answers / kThreads + 50;
  std::vector<std::future<Status>> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.push_back(std::async(std::launch::async, [&] {
      for (size_t call = 0; call < each; ++call)
        RETURN_IF_ERROR(clients[0]->increment("count").status());
      return Status();
    }));
  }
  for (auto& thread : threads) EXPECT_EQ(thread.get(), absl::OkStatus());
  EXPECT_EQ(*clients[1]->try_get("count"), str_cat(kThreads * each));
  EXPECT_TRUE(clients[1]->insert("end", "").ok());
  EXPECT_TRUE(waits.get().ok());
}

TEST_F(ServerTest, EndsBarriersAndLiveSetsForAll) {
  start({.processes = 3});
  const auto clients = connect_all();
  std::vector<std::future<Status>> barriers;
  std::vector<std::future<Result<LiveSet>>> sets;
  for (const auto& client : clients) {
    barriers.push_back(
        std::async(std::launch::async, [&] { return client->barrier("b", absl::Seconds(60)); }));
    sets.push_back(std::async(std::launch::async, [&] { return client->live_set(); }));
  }
  for (auto& barrier : barriers) EXPECT_TRUE(barrier.get().ok());
  for (auto& future : sets) {
    const Result<LiveSet> set = future.get();
    ASSERT_TRUE(set.ok());
    EXPECT_EQ(set->processes.size(), 3u);
    EXPECT_EQ(set->processes[2].incarnation, clients[2]->incarnation());
  }
  EXPECT_EQ(clients[0]->barrier("c", absl::Milliseconds(30)).code(),
            absl::StatusCode::kDeadlineExceeded);
  auto cancelled =
      std::async(std::launch::async, [&] { return clients[0]->barrier("d", absl::Seconds(60)); });
  while (!clients[1]->cancel_barrier("d").ok()) clock_.sleep(absl::Milliseconds(5));
  EXPECT_EQ(cancelled.get().code(), absl::StatusCode::kCancelled);
}

TEST(Pace, IsJudgedByMediansAgainstAll) {
  const auto ms = [](double a, double b, double c) {
    return std::vector<absl::Duration>{absl::Milliseconds(a), absl::Milliseconds(b),
                                       absl::Milliseconds(c)};
  };
  // The second is slow each time, the third was once, the fourth is not slow enough to matter.
  const ClusterPace pace =
      judge_pace({ms(0, 1, 0), ms(50, 40, 60), ms(1, 900, 0), ms(19, 19, 19), ms(1, 0, 1)});
  std::vector<int> slow;
  for (const ProcessPace& process : pace.processes) {
    if (process.slow) slow.push_back(process.process);
  }
  EXPECT_THAT(slow, ElementsAre(1));
  EXPECT_EQ(pace.processes[2].worst_late, absl::Milliseconds(900));
  EXPECT_EQ(pace.median_barrier, absl::Milliseconds(60));
  // Where all are, none is.
  for (const ProcessPace& process : judge_pace({ms(90, 90, 90), ms(80, 90, 95)}).processes) {
    EXPECT_FALSE(process.slow);
  }
}

TEST_F(ServerTest, ShowsWhichProcessIsSlow) {
  start({.processes = 3});
  const auto clients = connect_all();
  const auto quick = [&](int process) {
    return std::async(std::launch::async, [&, process] {
      return measure_pace(*clients[process], 5, absl::Seconds(60));
    });
  };
  auto first = quick(0), second = quick(1);
  for (int round = -1; round < 5; ++round) {
    clock_.sleep(absl::Milliseconds(60));
    ASSERT_TRUE(
        clients[2]->timed_barrier(str_cat("tessera/check/", round), absl::Seconds(60)).ok());
  }
  const Result<ClusterPace> pace = first.get();
  ASSERT_TRUE(pace.ok()) << pace.status();
  EXPECT_TRUE(pace->processes[2].slow);
  EXPECT_FALSE(pace->processes[0].slow);
  EXPECT_TRUE(second.get().ok());
}

// Spec 3.1: one stops without a word.
TEST_F(ServerTest, Spec31TellsAllWhoDied) {
  start({.processes = 3, .heartbeat_timeout = absl::Seconds(3)});
  auto clients = connect_all();
  auto waits =
      std::async(std::launch::async, [&] { return clients[0]->barrier("b", absl::Seconds(60)); });
  clients[2] = nullptr;
  EXPECT_EQ(waits.get().code(), absl::StatusCode::kInternal);
  while (clients[1]->failure().ok()) clock_.sleep(absl::Milliseconds(5));
  EXPECT_EQ(clients[1]->failure().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(message(clients[1]->failure()), HasSubstr("no heartbeat for 3s from process 2 ("));
  EXPECT_EQ(clients[1]->insert("a", "b"), clients[1]->failure());
}

TEST_F(ServerTest, Spec31GoesOnWithoutTheDeadWhereTheyMayComeBack) {
  start({.processes = 2, .recoverable = true, .heartbeat_timeout = absl::Seconds(3)});
  std::promise<MemberChange> dead, back;
  int told = -1;  // the first change may be its coming
  ClientOptions watching;
  watching.on_change = [&](const std::vector<MemberChange>& changes) {
    for (const MemberChange& change : changes) {
      if (change.id.process != 1) continue;
      if (told < 0) told = change.state == MemberChange::kAlive ? told : 0;
      if (told < 0 || told > 1) continue;
      (told++ == 0 ? dead : back).set_value(change);
    }
  };
  auto other = std::async(std::launch::async, [&] { return connect(1); });
  const auto watcher = *connect(0, watching);
  std::unique_ptr<Client> one = *other.get();
  const uint64_t before = one->incarnation();
  one = nullptr;
  const MemberChange death = dead.get_future().get();
  EXPECT_EQ(death.state, MemberChange::kDead);
  EXPECT_EQ(death.id.incarnation, before);
  EXPECT_EQ(watcher->live_set()->processes.size(), 1u);
  one = *connect(1);
  EXPECT_EQ(back.get_future().get().id.incarnation, one->incarnation());
  EXPECT_TRUE(watcher->failure().ok());
}

// Else what is done after the answer could be undone by older news.
TEST_F(ServerTest, AnswersALiveSetWhenAllThatCameBeforeItWasTold) {
  start({.processes = 2, .recoverable = true, .heartbeat_timeout = absl::Seconds(3)});
  std::atomic<uint64_t> dead = 0, back = 0;  // as told, with delay
  ClientOptions watching;
  watching.on_change = [&](const std::vector<MemberChange>& changes) {
    clock_.sleep(absl::Milliseconds(200));
    for (const MemberChange& change : changes) {
      if (change.id.process != 1) continue;
      (change.state == MemberChange::kAlive ? back : dead) = change.id.incarnation;
    }
  };
  auto other = std::async(std::launch::async, [&] { return connect(1); });
  const auto watcher = *connect(0, watching);
  std::unique_ptr<Client> one = *other.get();
  const uint64_t before = one->incarnation();
  one = nullptr;
  EXPECT_EQ(watcher->live_set()->processes.size(), 1u);
  EXPECT_EQ(dead, before);
  one = *connect(1);
  auto both = std::async(std::launch::async, [&] { return one->live_set(); });
  EXPECT_EQ(watcher->live_set()->processes.size(), 2u);
  EXPECT_EQ(back, one->incarnation());
  EXPECT_TRUE(both.get().ok());
}

TEST_F(ServerTest, TellsAllOfAnErrorThatOneReports) {
  start({.processes = 2});
  std::promise<Status> told;
  ClientOptions options;
  options.on_failure = [&](const Status& status) { told.set_value(status); };
  auto other = std::async(std::launch::async, [&] { return connect(1); });
  const auto client = *connect(0, options);
  const auto reporter = *other.get();
  ASSERT_TRUE(reporter->report_error(absl::DataLossError("bad disk")).ok());
  const Status status = told.get_future().get();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(message(status), testing::MatchesRegex("process 1 \\(.*\\) failed: bad disk"));
}

// What starts the processes sees one end long before its heartbeats are missed.
TEST_F(ServerTest, Spec31TellsAllAtOnceOfOneThatWasSeenToEnd) {
  start({.processes = 2, .heartbeat_timeout = absl::Seconds(60)});
  auto other = std::async(std::launch::async, [&] { return connect(1); });
  const auto client = *connect(0);
  const auto ended = *other.get();
  server_->process_ended(1, "was ended by signal 9");
  // Nobody else comes to this barrier.
  EXPECT_THAT(
      message(client->barrier("end", absl::Seconds(30))),
      testing::MatchesRegex(".*process 1 \\(.*\\) was ended by signal 9: its own messages .*"));
}

TEST_F(ServerTest, Spec31TheOthersGoOnWhereTheyMay) {
  start({.processes = 2, .recoverable = true, .heartbeat_timeout = absl::Seconds(60)});
  auto other = std::async(std::launch::async, [&] { return connect(1); });
  const auto client = *connect(0);
  const auto ended = *other.get();
  server_->process_ended(1, "was ended by signal 9");
  EXPECT_TRUE(client->insert("goes on", "").ok());
}

TEST_F(ServerTest, LetsAllLeaveTogether) {
  start({.processes = 2});
  const auto clients = connect_all();
  const Status alone = clients[0]->shutdown(absl::Milliseconds(30));
  EXPECT_EQ(alone.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(message(alone), HasSubstr("missing: process 1"));
  EXPECT_FALSE(server_->all_gone());
  EXPECT_EQ(clients[1]->shutdown(absl::Seconds(60)).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(server_->all_gone());
  EXPECT_TRUE(server_->failure().ok());
}

// Spec 1.2.
TEST_F(ServerTest, Spec12RefusesASecondClientOfOneProcess) {
  start({.processes = 1});
  const auto client = *connect(0);
  const auto second = connect(0);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAborted);
  EXPECT_THAT(message(second.status()), HasSubstr("two processes have the same number"));
  EXPECT_TRUE(client->insert("a", "b").ok());
}

TEST_F(ServerTest, Spec12RefusesProcessesOutsideTheNumber) {
  start({.processes = 2});
  EXPECT_THAT(message(connect(2).status()), HasSubstr("process 2 of 2"));
  EXPECT_THAT(message(connect(-1).status()), HasSubstr("process -1 of 2"));
}

TEST_F(ServerTest, Spec12SaysWhoDidNotCome) {
  start({.processes = 2});
  ClientOptions options;
  options.connect_timeout = absl::Seconds(2);
  const auto alone = connect(0, options);
  EXPECT_EQ(alone.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(message(alone.status()), HasSubstr("missing: process 1"));
}

TEST_F(ServerTest, IsWaitedForUntilTheTimeout) {
  start({.processes = 1});
  server_ = nullptr;
  ClientOptions options;
  options.connect_timeout = absl::Milliseconds(300);
  const auto none = connect(0, options);
  EXPECT_EQ(none.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(message(none.status()), HasSubstr("127.0.0.1"));
  EXPECT_THAT(message(none.status()), HasSubstr("Connection refused"));
  auto late = std::async(std::launch::async, [&] { return connect(0); });
  clock_.sleep(absl::Milliseconds(100));
  restart();
  EXPECT_TRUE(late.get().ok());
}

TEST_F(ServerTest, SaysWhoseThePortIs) {
  start({.processes = 1});
  const auto second = Server::start({.processes = 1, .bind = address()}, files_, clock_);
  EXPECT_THAT(message(second.status()),
              HasSubstr(str_cat("cannot listen at ", address(), ": Address already in use")));
  EXPECT_EQ(Server::start({.processes = 1, .bind = "nonsense"}, files_, clock_).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(Server::start({.processes = 0}, files_, clock_).ok());
}

// A coordinator that dies and comes back with its journal is not noticed but for the delay.
TEST_F(ServerTest, ComesBackFromItsJournal) {
  start({.processes = 2, .journal = journal()});
  const auto clients = connect_all();
  ASSERT_TRUE(clients[0]->insert("a", "1").ok());
  ASSERT_EQ(*clients[0]->increment("n"), 1);
  auto waits =
      std::async(std::launch::async, [&] { return clients[0]->barrier("b", absl::Seconds(60)); });
  auto set = std::async(std::launch::async, [&] { return clients[0]->live_set(); });
  clock_.sleep(absl::Milliseconds(50));
  restart();
  EXPECT_EQ(*clients[1]->try_get("a"), "1");
  EXPECT_EQ(*clients[1]->increment("n"), 2);
  EXPECT_TRUE(clients[1]->barrier("b", absl::Seconds(60)).ok());
  EXPECT_TRUE(waits.get().ok());
  EXPECT_EQ(clients[1]->live_set()->processes.size(), 2u);
  EXPECT_EQ(set.get()->processes[1].incarnation, clients[1]->incarnation());
  const auto second = Server::start(
      {.processes = 2, .bind = "127.0.0.1:0", .journal = options_.journal}, files_, clock_);
  EXPECT_THAT(message(second.status()), HasSubstr("another coordinator has"));
}

TEST_F(ServerTest, BeginsAnewFromTheJournalOfARunThatHasEnded) {
  start({.processes = 1, .journal = journal()});
  {
    const auto client = *connect(0);
    ASSERT_TRUE(client->insert("a", "1").ok());
    ASSERT_TRUE(client->shutdown().ok());
  }
  restart();
  const auto client = *connect(0);
  EXPECT_EQ(client->try_get("a").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ServerTest, WithoutAJournalEndsThoseThatItForgot) {
  start({.processes = 1});
  const auto client = *connect(0);
  restart();
  const Status status = client->insert("a", "1");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(message(status), HasSubstr("Start the coordinator with --journal"));
  EXPECT_EQ(client->failure(), status);
}

TEST_F(ServerTest, IsLostWhenItDoesNotComeBack) {
  start({.processes = 1, .heartbeat_timeout = absl::Seconds(3)});
  std::promise<Status> told;
  ClientOptions options;
  options.on_failure = [&](const Status& status) { told.set_value(status); };
  const auto client = *connect(0, options);
  server_ = nullptr;
  const Status status = told.get_future().get();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(message(status),
              HasSubstr(str_cat("the coordinator at ", address(), " has not answered for 3s")));
  EXPECT_THAT(message(status), HasSubstr("Connection refused"));
}

// What else may come to an open port.

int raw_connection(int port) {
  const int raw = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in target = {};
  target.sin_family = AF_INET;
  target.sin_port = htons(static_cast<uint16_t>(port));
  target.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  CHECK(::connect(raw, reinterpret_cast<sockaddr*>(&target), sizeof(target)) == 0);
  return raw;
}

TEST_F(ServerTest, OutlivesGarbageAndSilence) {
  start({.processes = 1});
  const auto client = *connect(0);
  std::vector<int> sockets;
  uint64_t random = 1;
  for (int i = 0; i < 60; ++i) {
    sockets.push_back(raw_connection(port_));
    std::string bytes(static_cast<size_t>(i * 40), '\0');
    for (char& byte : bytes)
      byte = static_cast<char>((random = random * 6364136223846793005u + 1) >> 56);
    if (i % 3 == 1) bytes = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes;
    if (i % 3 == 2) bytes = "GET / HTTP/1.1\r\n\r\n";
    send(sockets.back(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  EXPECT_TRUE(client->insert("a", "b").ok());
  for (const int raw : sockets) close(raw);
  EXPECT_EQ(*client->try_get("a"), "b");
}

TEST_F(ServerTest, AcceptsOnlySoManyConnectionsAtATime) {
  start({.processes = 1, .max_connections = 4});
  std::vector<int> sockets;
  for (int i = 0; i < 4; ++i) sockets.push_back(raw_connection(port_));
  ClientOptions options;
  options.connect_timeout = absl::Milliseconds(400);
  EXPECT_FALSE(connect(0, options).ok());
  for (const int raw : sockets) close(raw);
  EXPECT_TRUE(connect(0).ok());
}

TEST_F(ServerTest, IsToldApartFromOtherPrograms) {
  const int other = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(other, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(other, 5), 0);
  socklen_t size = sizeof(address);
  getsockname(other, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  options_.processes = 1;
  std::thread answers([&] {
    for (int i = 0; i < 1; ++i) {
      const int accepted = accept(other, nullptr, nullptr);
      send(accepted, "220 mail.example.org\r\n", 22, MSG_NOSIGNAL);
      char bytes[1000];
      while (recv(accepted, bytes, sizeof(bytes), 0) > 0) {
      }
      close(accepted);
    }
  });
  const auto client = connect(0);
  answers.join();
  close(other);
  EXPECT_THAT(message(client.status()), HasSubstr("is no coordinator"));
}

}  // namespace
}  // namespace tessera::coord
