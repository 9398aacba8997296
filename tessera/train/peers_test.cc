#include "tessera/train/peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <set>

#include "tessera/base/clock.h"
#include "tessera/base/filesystem.h"
#include "tessera/coord/server.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// `body` as each of three processes, in threads; what each gave.
template <typename Result>
std::vector<Result> on_three(const std::function<Result(Peers& peers)>& body) {
  PosixFileSystem files;
  RealClock clock;
  const auto server = *coord::Server::start({.processes = 3}, files, clock);
  std::vector<std::future<Result>> runs;
  for (int process = 0; process < 3; ++process) {
    runs.push_back(std::async(std::launch::async, [&, process] {
      const auto client =
          *coord::Client::connect({.coordinator = str_cat("127.0.0.1:", server->port()),
                                   .process = process,
                                   .processes = 3},
                                  clock);
      Result result = [&] {
        Peers peers(*client);
        return body(peers);
      }();
      CHECK_MSG(client->shutdown(absl::Seconds(60)).ok(), "shutdown");
      return result;
    }));
  }
  std::vector<Result> results;
  for (auto& run : runs) results.push_back(run.get());
  return results;
}

TEST(Peers, OneAloneHasNobodyToAsk) {
  Peers peers;
  EXPECT_TRUE(peers.leads() && peers.alone());
  EXPECT_EQ(*peers.from_leader(7), 7);
  EXPECT_THAT(*peers.gather("x"), ElementsAre("x"));
  EXPECT_EQ(peers.agree("this", not_found("that")), not_found("that"));
  EXPECT_TRUE(*peers.agree_on_step("stop", 3, true));
  EXPECT_FALSE(*peers.agree_on_step("stop", 3, false));
}

TEST(Peers, TheLeaderDoesWhatIsDoneOnceAndItsFailureIsEveryones) {
  std::atomic<int> done = 0;
  const auto results = on_three<std::vector<Status>>([&](Peers& peers) -> std::vector<Status> {
    const auto work = [&] {
      ++done;
      return absl::OkStatus();
    };
    Status good = peers.lead("building", work);
    Status bad = peers.lead("building", [] { return not_found("no corpus"); });
    return {good, bad};
  });
  EXPECT_EQ(done, 1);
  for (const auto& got : results) {
    EXPECT_TRUE(got[0].ok()) << got[0];
    EXPECT_EQ(got[1].code(), absl::StatusCode::kNotFound);
  }
  EXPECT_EQ(from_absl(results[0][1].message()), "no corpus");
  EXPECT_EQ(from_absl(results[2][1].message()), "building failed on process 0: no corpus");
}

TEST(Peers, AnyonesErrorIsEveryones) {
  const auto results = on_three<Status>([&](Peers& peers) {
    return peers.agree("reading", peers.process() == 2 ? data_loss("chunk 3") : absl::OkStatus());
  });
  for (const Status& status : results) EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(results[0].message(), AllOf(HasSubstr("process 2"), HasSubstr("chunk 3")));
}

TEST(Peers, TheLeadersNumberIsEveryones) {
  const auto results = on_three<int64_t>(
      [&](Peers& peers) { return *peers.from_leader(peers.leads() ? -12 : peers.process()); });
  EXPECT_THAT(results, ElementsAre(-12, -12, -12));
}

TEST(Peers, TextsComeToTheLeader) {
  const auto results = on_three<std::vector<std::string>>(
      [&](Peers& peers) { return *peers.gather(std::string(peers.process(), 'x')); });
  EXPECT_THAT(results[0], ElementsAre("", "x", "xx"));
  EXPECT_TRUE(results[1].empty());
}

TEST(Peers, AllStopAtTheSameStep) {
  const auto results = on_three<int64_t>([&](Peers& peers) {
    for (int64_t step = 0;; ++step) {
      if (*peers.agree_on_step("stop", step, peers.process() == 1 && step >= 4)) return step;
    }
  });
  EXPECT_EQ(std::set<int64_t>(results.begin(), results.end()).size(), 1u);
  EXPECT_GE(results[0], 4);
}

}  // namespace
}  // namespace tessera
