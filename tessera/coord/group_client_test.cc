#include "tessera/coord/group_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "tessera/base/strings.h"
#include "tessera/coord/exchange.h"
#include "tessera/coord/server.h"

namespace tessera::coord {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::string message(const Status& status) { return std::string(from_absl(status.message())); }

/// One process of a cluster, with what it hears of the others.
struct Process {
  Members members;
  std::unique_ptr<Client> client;
};

class GroupClientTest : public ::testing::Test {
 protected:
  static constexpr int kProcesses = 4;

  void SetUp() override {
    server_ = *Server::start(
        {.processes = kProcesses, .recoverable = true, .heartbeat_timeout = absl::Seconds(60)},
        files_, clock_);
    each([this](int i) { connect(i); });
  }
  void connect(int i) {
    auto process = std::make_unique<Process>();
    process->client = *Client::connect(
        {.coordinator = str_cat("127.0.0.1:", server_->port()),
         .process = i,
         .processes = kProcesses,
         .on_change = [members = &process->members](
                          const auto& changes) { members->take_changes(changes); }},
        clock_);
    processes_[i] = std::move(process);
  }
  // `body` on all processes that there are, at the same time.
  void each(const std::function<void(int)>& body) {
    std::vector<std::future<void>> runs;
    for (int i = 0; i < kProcesses; ++i) {
      if (!has_[i]) continue;
      runs.push_back(std::async(std::launch::async, body, i));
    }
    for (auto& run : runs) run.get();
  }
  void end(int i) {
    has_[i] = false;
    processes_[i]->client = nullptr;
    server_->process_ended(i, "was ended by signal 9");
  }
  // A group of all that live, on each of them.
  void form(const std::string& name = "all") {
    each([&](int i) {
      Process& process = *processes_[i];
      const LiveSet set = *process.client->live_set({}, absl::Seconds(60));
      groups_[i] =
          std::make_unique<GroupClient>(*process.client, process.members, set, set.processes, name);
    });
  }

  PosixFileSystem files_;
  RealClock clock_;
  std::unique_ptr<Server> server_;
  bool has_[kProcesses] = {true, true, true, true};
  std::unique_ptr<Process> processes_[kProcesses];
  std::unique_ptr<GroupClient> groups_[kProcesses];
};

TEST_F(GroupClientTest, IsAClusterOfThoseThatAreLeft) {
  end(1);
  form();
  EXPECT_EQ(groups_[0]->processes(), 3);
  EXPECT_EQ(groups_[2]->process(), 1);
  EXPECT_EQ(groups_[3]->process(), 2);
  each([&](int i) {
    Exchange exchange(*groups_[i]);
    const auto texts = exchange.gather_texts(str_cat("from ", i));
    ASSERT_TRUE(texts.ok()) << texts.status();
    EXPECT_THAT(*texts, ElementsAre(Pair(0, "from 0"), Pair(1, "from 2"), Pair(2, "from 3")));
    const auto arrivals = groups_[i]->timed_barrier("timed", absl::Seconds(60), {});
    ASSERT_TRUE(arrivals.ok()) << arrivals.status();
    EXPECT_EQ(arrivals->size(), 3u);
  });
}

TEST_F(GroupClientTest, GroupsShareNoKeys) {
  form("a");
  ASSERT_TRUE(groups_[0]->insert("key", "of a", false).ok());
  EXPECT_EQ(*groups_[1]->get("key", absl::Seconds(60)), "of a");
  EXPECT_THAT(*groups_[2]->list("k"), ElementsAre(Pair("key", "of a")));
  form("b");
  EXPECT_TRUE(absl::IsNotFound(groups_[1]->try_get("key").status()));
  EXPECT_TRUE(absl::IsNotFound(processes_[0]->client->try_get("key").status()));
  EXPECT_EQ(*groups_[0]->increment("count", 2), 2);
}

TEST_F(GroupClientTest, EndsWithADeathWhateverItsProcessesWaitFor) {
  form();
  std::vector<Status> ended(kProcesses);
  std::thread death([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    server_->process_ended(3, "was ended by signal 9");
  });
  each([&](int i) {
    if (i == 0) ended[0] = groups_[0]->get("never", absl::Seconds(300)).status();
    if (i == 1) ended[1] = groups_[1]->wait_for_failure(absl::Seconds(300));
    if (i == 2) {
      groups_[2]->barrier("never", absl::Seconds(300), {}).IgnoreError();
      ended[2] = groups_[2]->wait_for_failure(absl::Seconds(60));
    }
  });
  death.join();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(absl::IsAborted(ended[i])) << ended[i];
    EXPECT_THAT(message(ended[i]), AllOf(HasSubstr("process 3 ("), HasSubstr("ended by signal 9")));
    EXPECT_EQ(groups_[i]->insert("more", "", false).code(), absl::StatusCode::kAborted);
    EXPECT_TRUE(processes_[i]->client->failure().ok()) << "the cluster goes on";
  }
}

TEST_F(GroupClientTest, ADeathBeforeItWasMadeEndsItAsWell) {
  std::vector<LiveSet> sets(kProcesses);
  each([&](int i) { sets[i] = *processes_[i]->client->live_set({}, absl::Seconds(60)); });
  end(2);
  // Until process 0 has heard of it.
  while (processes_[0]->members.gone(sets[0].processes[2]).ok())
    clock_.sleep(absl::Milliseconds(5));
  const GroupClient group(*processes_[0]->client, processes_[0]->members, sets[0],
                          sets[0].processes, "late");
  EXPECT_TRUE(absl::IsAborted(group.failure()));
}

TEST_F(GroupClientTest, WhoIsStartedAnewIsANewcomer) {
  form();
  const std::vector<ProcessId> before = groups_[0]->members();
  EXPECT_TRUE(processes_[0]->members.newcomers(before).empty());
  has_[1] = false;
  groups_[1] = nullptr;
  connect(1);  // before anybody noticed that the old one had ended
  while (processes_[0]->members.newcomers(before).empty()) clock_.sleep(absl::Milliseconds(5));
  EXPECT_EQ(processes_[0]->members.newcomers(before)[0].process, 1);
  EXPECT_THAT(message(groups_[0]->wait_for_failure(absl::Seconds(60))), HasSubstr("started anew"));
}

TEST_F(GroupClientTest, WhoDoesNotGetOnIsDeclaredDead) {
  form();
  const ProcessId victim = groups_[0]->members()[2];
  ASSERT_TRUE(groups_[0]->declare_dead(victim, "made no step for 5s").ok());
  const Status told = groups_[1]->wait_for_failure(absl::Seconds(60));
  EXPECT_THAT(message(told), HasSubstr("made no step for 5s"));
  const Status fenced = processes_[2]->client->insert("key", "value");
  EXPECT_THAT(message(fenced),
              HasSubstr("is not connected: it was declared dead, since it made no step for 5s"));
  // Twice, or of one that is gone, it is nothing.
  EXPECT_TRUE(groups_[0]->declare_dead(victim, "again").ok());
  EXPECT_TRUE(processes_[0]->client->failure().ok());
}

}  // namespace
}  // namespace tessera::coord
