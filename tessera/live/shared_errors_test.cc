#include "tessera/live/shared_errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "tessera/base/filesystem.h"
#include "tessera/coord/server.h"
#include "tessera/live/live_devices.h"

namespace tessera {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// Processes of one test, each a client of a coordinator in this process.
class SharedErrorsTest : public testing::Test {
 protected:
  void SetUp() override {
    auto server = coord::Server::start({.processes = 3, .recoverable = true}, files_, clock_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    std::vector<std::future<Result<std::unique_ptr<coord::Client>>>> futures;
    for (int process = 0; process < 3; ++process) {
      futures.push_back(std::async(std::launch::async, [this, process] {
        return coord::Client::connect({.coordinator = str_cat("127.0.0.1:", server_->port()),
                                       .process = process,
                                       .processes = 3},
                                      clock_);
      }));
    }
    for (int process = 0; process < 3; ++process) {
      auto client = futures[process].get();
      ASSERT_TRUE(client.ok()) << client.status();
      clients_.push_back(*std::move(client));
      all_.push_back(std::make_unique<SharedErrors>(*clients_[process],
                                                    [this, process] { ++told_[process]; }));
    }
  }
  void begin(uint64_t round) {
    for (const auto& one : all_) one->begin(round);
  }
  void end(const std::vector<Status>& results) {
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(all_[i]->end(results[i]).ok());
  }
  size_t keys() { return clients_[0]->list("live_devices/")->size(); }

  PosixFileSystem files_;
  RealClock clock_;
  std::unique_ptr<coord::Server> server_;
  std::vector<std::unique_ptr<coord::Client>> clients_;
  std::atomic<int> told_[3] = {};
  std::vector<std::unique_ptr<SharedErrors>> all_;
};

TEST_F(SharedErrorsTest, AreHeardByThoseThatStillWork) {
  begin(7);
  ASSERT_TRUE(all_[1]->end(absl::OkStatus()).ok());
  ASSERT_TRUE(all_[0]->end(absl::ResourceExhaustedError("no memory")).ok());
  while (told_[2] == 0) clock_.sleep(absl::Milliseconds(1));
  ASSERT_TRUE(all_[2]->end(absl::UnavailableError("nobody answers")).ok());
  for (const auto& one : all_)
    EXPECT_EQ(one->result(7), absl::ResourceExhaustedError("process 0: no memory"));
  // Nothing of it in the next one.
  begin(9);
  end({absl::OkStatus(), absl::OkStatus(), absl::OkStatus()});
  for (const auto& one : all_) EXPECT_TRUE(one->result(9).ok());
  EXPECT_EQ(told_[0] + told_[1], 0);
  EXPECT_EQ(told_[2], 1);
}

TEST_F(SharedErrorsTest, ThatFollowFromAnotherComeAfterIt) {
  begin(1);
  end({absl::UnavailableError("a"), absl::DataLossError("b"), absl::InternalError("c")});
  for (const auto& one : all_) EXPECT_EQ(one->result(1), absl::DataLossError("process 1: b"));
  begin(2);
  end({absl::OkStatus(), absl::CancelledError("b"), absl::DeadlineExceededError("c")});
  for (const auto& one : all_) EXPECT_EQ(one->result(2), absl::CancelledError("process 1: b"));
}

TEST_F(SharedErrorsTest, AreForgottenOnceAllHaveEndedTheNextBlock) {
  const Status failed = absl::InternalError("x");
  begin(1);
  end({failed, failed, failed});
  for (const auto& one : all_) one->forget_older();
  EXPECT_EQ(keys(), 4u);  // of this block: still to be asked for
  begin(2);
  end({absl::OkStatus(), absl::OkStatus(), failed});
  for (const auto& one : all_) one->forget_older();
  EXPECT_EQ(keys(), 2u);
  EXPECT_TRUE(all_[0]->result(1).ok());
  EXPECT_FALSE(all_[0]->result(2).ok());
}

TEST(SharedErrorsText, ComesBackAsItWas) {
  const Status error = absl::ResourceExhaustedError("12 bytes\nof \"none\"");
  EXPECT_EQ(error_from_text(error_to_text(error)), error);
  for (const char* text : {"", "x", "0 fine", "17 unknown", "8"})
    EXPECT_EQ(error_from_text(text).code(), absl::StatusCode::kInternal) << text;
}

TEST(FailedDevices, AreThoseOfABlocksEndOnly) {
  EXPECT_THAT(failed_devices(absl::OkStatus()), IsEmpty());
  EXPECT_THAT(failed_devices(absl::UnavailableError("1,2")), IsEmpty());
}

}  // namespace
}  // namespace tessera
