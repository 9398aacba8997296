#include "tessera/train/watchdog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "tessera/base/filesystem.h"
#include "tessera/base/testing.h"
#include "tessera/coord/server.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

WatchdogOptions quick() {
  WatchdogOptions options;
  options.hang_timeout = absl::Seconds(2);
  options.end_process = [] { FAIL() << "nobody is to be ended"; };
  return options;
}

/// Two processes of one cluster, of which the coordinator knows; the first one's watchdog is made
/// by each test.
class WatchdogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    server_ = *coord::Server::start({.processes = 2}, files_, clock_);
    std::thread other([&] { clients_[1] = connect(1); });
    clients_[0] = connect(0);
    other.join();
    for (int i = 0; i < 2; ++i) peers_[i] = std::make_unique<Peers>(*clients_[i]);
  }
  std::unique_ptr<coord::Client> connect(int process) {
    return *coord::Client::connect(
        {.coordinator = str_cat("127.0.0.1:", server_->port()), .process = process, .processes = 2},
        clock_);
  }
  // Until the cluster has failed, or for a minute.
  Status failure() {
    for (int i = 0; i < 600 && clients_[0]->failure().ok(); ++i) clock_.sleep(absl::Seconds(0.1));
    return clients_[0]->failure();
  }

  PosixFileSystem files_;
  RealClock clock_;
  std::unique_ptr<coord::Server> server_;
  std::unique_ptr<coord::Client> clients_[2];
  std::unique_ptr<Peers> peers_[2];
};

TEST_F(WatchdogTest, TheOneThatIsBehindIsDeclaredDead) {
  Watchdog first(*peers_[0], clock_, quick()), second(*peers_[1], clock_, quick());
  for (Watchdog* watchdog : {&first, &second}) watchdog->begin_training();
  for (Watchdog* watchdog : {&first, &second}) watchdog->enter("reading the batch of step", 7);
  first.enter("waiting for the end of step", 7);
  EXPECT_THAT(from_absl(failure().message()),
              AllOf(HasSubstr("process 1 ("), HasSubstr(") did not get on: for"),
                    HasSubstr("it was reading the batch of step 7"),
                    HasSubstr("fault_tolerance.hang_timeout_s")));
}

TEST_F(WatchdogTest, WhoMovesIsLeftAloneHoweverLongTheOthersWait) {
  WatchdogOptions options = quick();
  options.hang_timeout = absl::Seconds(4);
  Watchdog first(*peers_[0], clock_, options), second(*peers_[1], clock_, options);
  for (Watchdog* watchdog : {&first, &second}) watchdog->begin_training();
  for (int i = 0; i < 100; ++i) first.enter("waiting for the end of step", 7);
  for (int i = 0; i < 40; ++i) {  // for two timeouts and more
    second.enter("reading", i);
    clock_.sleep(absl::Seconds(0.25));
  }
  EXPECT_TRUE(clients_[0]->failure().ok());
  EXPECT_TRUE(clients_[1]->failure().ok());
}

TEST_F(WatchdogTest, NobodyIsStuckBeforeTraining) {
  Watchdog first(*peers_[0], clock_, quick()), second(*peers_[1], clock_, quick());
  first.enter("compiling");
  clock_.sleep(absl::Seconds(6));
  EXPECT_TRUE(clients_[0]->failure().ok());
}

TEST_F(WatchdogTest, WhereItIsNotKnownWhoIsStuckAllEnd) {
  Watchdog first(*peers_[0], clock_, quick()), second(*peers_[1], clock_, quick());
  for (Watchdog* watchdog : {&first, &second}) {
    watchdog->begin_training();
    watchdog->enter("waiting for the end of step", 7);
  }
  EXPECT_THAT(from_absl(failure().message()), HasSubstr("no process gets on"));
}

TEST_F(WatchdogTest, WhoDoesNotEndByItselfOnceTheRunHasFailedIsEnded) {
  std::atomic<bool> ended = false;
  WatchdogOptions options = quick();
  options.to_end = absl::Seconds(1);
  options.end_process = [&] { ended = true; };
  Watchdog first(*peers_[0], clock_, options);
  first.begin_training();
  peers_[1]->give_up(internal_error("the other one's error"));
  EXPECT_FALSE(failure().ok());
  for (int i = 0; i < 600 && !ended; ++i) clock_.sleep(absl::Seconds(0.1));
  EXPECT_TRUE(ended);
}

TEST(WatchdogAlone, EndsItself) {
  std::atomic<bool> ended = false;
  WatchdogOptions options = quick();
  options.end_process = [&] { ended = true; };
  Peers alone;
  RealClock clock;
  Watchdog watchdog(alone, clock, options);
  watchdog.begin_training();
  for (int i = 0; i < 600 && !ended; ++i) clock.sleep(absl::Seconds(0.1));
  EXPECT_TRUE(ended);
}

// A clock of which the watched process misses a minute, as when it is stopped.
class JumpingClock final : public Clock {
 public:
  absl::Time now() const override { return real_.now(); }
  absl::Duration elapsed() const override { return real_.elapsed() + absl::Seconds(jump_.load()); }
  void sleep(absl::Duration duration) override { real_.sleep(duration); }
  std::atomic<int> jump_ = 0;

 private:
  RealClock real_;
};

TEST(WatchdogAlone, WhoWasStoppedIsNotStuck) {
  WatchdogOptions options = quick();
  options.hang_timeout = absl::Seconds(30);
  Peers alone;
  JumpingClock clock;
  Watchdog watchdog(alone, clock, options);
  watchdog.begin_training();
  clock.sleep(absl::Seconds(2));
  clock.jump_ = 60;
  clock.sleep(absl::Seconds(3));  // looks
}

}  // namespace
}  // namespace tessera
