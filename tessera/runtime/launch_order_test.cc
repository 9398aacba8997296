#include "tessera/runtime/launch_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "tessera/base/log.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Processes = std::vector<int64_t>;

/// What processes meet through, in memory.
class Store : public KeyValueStore {
 public:
  Status put(const std::string& key, const std::string& value) override {
    const std::lock_guard lock(mutex_);
    return values_.emplace(key, value).second ? absl::OkStatus() : absl::AlreadyExistsError(key);
  }
  Status replace(const std::string& key, const std::string& value) override {
    const std::lock_guard lock(mutex_);
    values_[key] = value;
    ++replaced_;
    return absl::OkStatus();
  }
  Result<std::string> get(const std::string& key, absl::Duration) override { return try_get(key); }
  Result<std::string> try_get(const std::string& key) override {
    const std::lock_guard lock(mutex_);
    ++read_;
    const auto found = values_.find(key);
    if (found == values_.end()) return not_found(key);
    return found->second;
  }
  int64_t calls() const { return replaced_ + read_; }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> values_;  // guarded by mutex_
  std::atomic<int64_t> replaced_ = 0, read_ = 0;
};

Mesh mesh(std::string axis, std::vector<int64_t> ids) {
  const auto size = static_cast<int64_t>(ids.size());
  auto made = Mesh::create({{std::move(axis), size}}, std::move(ids));
  CHECK_MSG(made.ok(), made.status().ToString());
  return *made;
}

/// Processes of one test, as threads of it.
class LaunchOrderTest : public ::testing::Test {
 protected:
  LaunchOrderTest()
      : log_(
            [this](std::string_view text) {
              const std::lock_guard lock(mutex_);
              logged_ += text;
            },
            clock_),
        scoped_(log_) {}

  std::unique_ptr<LaunchOrder> process(int process, int processes,
                                       absl::Duration behind_after = absl::Seconds(60)) {
    return std::make_unique<LaunchOrder>(LaunchOrderOptions{.process = process,
                                                            .processes = processes,
                                                            .key_values = store_,
                                                            .interval = absl::Milliseconds(1),
                                                            .behind_after = behind_after,
                                                            .abort = [this] { ++aborted_; }});
  }
  std::vector<std::unique_ptr<LaunchOrder>> make(int count) {
    std::vector<std::unique_ptr<LaunchOrder>> all;
    for (int i = 0; i < count; ++i) all.push_back(process(i, count));
    return all;
  }
  /// The next operation: a program of that name, over a device of each of these processes.
  static Status launch(LaunchOrder& order, const std::string& name, const Processes& processes,
                       const std::string& text = "text") {
    return order.begin(*order.add(name, text, mesh("data", processes), processes));
  }
  /// Waits for something that happens soon; gives up after half a minute.
  static bool soon(const std::function<bool()>& condition) {
    for (int i = 0; i < 30'000 && !condition(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return condition();
  }
  static bool fails(LaunchOrder& order) {
    return soon([&] { return !order.failure().ok(); });
  }
  static std::string reason(const LaunchOrder& order) {
    return std::string(order.failure().message());
  }
  /// Until all that was launched has been compared, so that nobody asks any more.
  bool becomes_quiet() {
    for (int i = 0; i < 1000; ++i) {
      const int64_t before = store_->calls();
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      if (store_->calls() == before) return true;
    }
    return false;
  }
  std::string log() {
    const std::lock_guard lock(mutex_);
    return logged_;
  }

  std::shared_ptr<Store> store_ = std::make_shared<Store>();
  std::atomic<int> aborted_ = 0;

 private:
  RealClock clock_;
  std::mutex mutex_;
  std::string logged_;  // guarded by mutex_
  LogSink log_;
  ScopedLogSink scoped_;
};

TEST_F(LaunchOrderTest, Spec1OrderTheSameOrderPassesAndThenNobodyAsksAnyMore) {
  const auto all = make(4);
  for (int step = 0; step < 300; ++step) {
    for (const auto& one : all) {
      ASSERT_TRUE(launch(*one, step % 5 == 4 ? "eval" : "step", {0, 1, 2, 3}).ok());
    }
  }
  EXPECT_TRUE(becomes_quiet());
  for (const auto& one : all) EXPECT_EQ(one->failure(), absl::OkStatus());
  EXPECT_EQ(aborted_, 0);
}

TEST_F(LaunchOrderTest, Spec1OrderOtherProgramsOfTheSameNumberFailInBoth) {
  const auto all = make(2);
  for (const auto& one : all) ASSERT_TRUE(launch(*one, "step", {0, 1}).ok());
  ASSERT_TRUE(launch(*all[0], "step", {0, 1}).ok());
  ASSERT_TRUE(launch(*all[1], "eval", {0, 1}).ok());
  for (const auto& one : all) {
    ASSERT_TRUE(fails(*one));
    EXPECT_EQ(one->failure().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(reason(*one),
                AllOf(HasSubstr("operation 2 among processes 0, 1 is 'step' over data=2 (devices "
                                "0, 1) on process 0, and 'eval' over data=2 (devices 0, 1) on "
                                "process 1"),
                      HasSubstr("in the same order")));
    EXPECT_EQ(launch(*one, "step", {0, 1}), one->failure());
    EXPECT_EQ(one->explain(absl::UnavailableError("process 1 has died")), one->failure());
  }
  EXPECT_TRUE(soon([&] { return aborted_ == 2; }));
  EXPECT_EQ(reason(*all[0]), reason(*all[1]));
}

TEST_F(LaunchOrderTest, Spec1OrderProgramsThatReadAlikeAreToldApart) {
  const auto all = make(2);
  ASSERT_TRUE(launch(*all[0], "step", {0, 1}, "x + 1").ok());
  ASSERT_TRUE(launch(*all[1], "step", {0, 1}, "x + 2").ok());
  ASSERT_TRUE(fails(*all[0]) && fails(*all[1]));
  EXPECT_THAT(reason(*all[0]), HasSubstr(" (program "));
}

TEST_F(LaunchOrderTest, Spec1OrderAnotherMeshOfTheSameProcessesIsNamed) {
  const auto all = make(2);
  const auto launch_over = [](LaunchOrder& order, const Mesh& mesh) {
    return order.begin(*order.add("step", "text", mesh, {0, 1}));
  };
  ASSERT_TRUE(launch_over(*all[0], mesh("data", {0, 2048})).ok());
  ASSERT_TRUE(launch_over(*all[1], mesh("tensor", {1, 2049})).ok());
  ASSERT_TRUE(fails(*all[0]) && fails(*all[1]));
  EXPECT_THAT(reason(*all[0]), AllOf(HasSubstr("data=2 (devices 0, 2048) on process 0"),
                                     HasSubstr("tensor=2 (devices 1, 2049) on process 1")));
}

TEST_F(LaunchOrderTest, Spec1OrderProgramsInSwappedOrderFailAtTheFirst) {
  const auto all = make(2);
  ASSERT_TRUE(launch(*all[0], "a", {0, 1}).ok() && launch(*all[0], "b", {0, 1}).ok());
  ASSERT_TRUE(launch(*all[1], "b", {0, 1}).ok() && launch(*all[1], "a", {0, 1}).ok());
  ASSERT_TRUE(fails(*all[0]) && fails(*all[1]));
  EXPECT_THAT(reason(*all[0]), HasSubstr("operation 1 among processes 0, 1 is 'a' over"));
}

// Each set of processes has the same operations, and yet two of them would wait for each other.
TEST_F(LaunchOrderTest, Spec1OrderProgramsOfTwoSetsOfProcessesInSwappedOrderFail) {
  const auto all = make(3);
  ASSERT_TRUE(launch(*all[0], "pair", {0, 1}).ok() && launch(*all[0], "all", {0, 1, 2}).ok());
  ASSERT_TRUE(launch(*all[1], "all", {0, 1, 2}).ok() && launch(*all[1], "pair", {0, 1}).ok());
  ASSERT_TRUE(launch(*all[2], "all", {0, 1, 2}).ok());
  ASSERT_TRUE(fails(*all[0]) && fails(*all[1]));
  EXPECT_THAT(reason(*all[0]),
              AllOf(HasSubstr("different orders"), HasSubstr("among processes 0, 1 ('pair'"),
                    HasSubstr("among processes 0, 1, 2 ('all'")));
  // The third one has done nothing wrong, but what it waits for will not come.
  EXPECT_EQ(all[2]->explain(absl::UnavailableError("gone")), all[0]->failure());
}

TEST_F(LaunchOrderTest, Spec1OrderWhereOneOfFourDivergesAllFail) {
  const auto all = make(4);
  for (int step = 0; step < 10; ++step) {
    for (int process = 0; process < 4; ++process) {
      const bool other = process == 3 && step == 6;
      launch(*all[process], other ? "eval" : "step", {0, 1, 2, 3}).IgnoreError();
    }
  }
  for (const auto& one : all) {
    ASSERT_TRUE(fails(*one));
    EXPECT_THAT(reason(*one), AllOf(HasSubstr("operation 7 among processes 0, 1, 2, 3 is 'step'"),
                                    HasSubstr("'eval' over data=4"), HasSubstr("on process 3")));
  }
}

// Processes that run ahead of each other by more than is published at once.
TEST_F(LaunchOrderTest, Spec1OrderDifferentSpeedsAreNoDivergence) {
  const auto all = make(4);
  std::vector<std::thread> threads;
  for (int process = 0; process < 4; ++process) {
    threads.emplace_back([&, process] {
      std::minstd_rand random(process + 1);
      for (int step = 0; step < 3000; ++step) {
        ASSERT_TRUE(launch(*all[process], str_cat("step", step % 7), {0, 1, 2, 3}).ok());
        if (step % 3 == 0 && process < 2) {
          ASSERT_TRUE(launch(*all[process], "pair", {0, 1}).ok());
        }
        if (random() % 50 == 0)
          std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(becomes_quiet());
  for (const auto& one : all) EXPECT_EQ(one->failure(), absl::OkStatus());
}

TEST_F(LaunchOrderTest, Spec1OrderAProcessThatIsBehindForLongIsNamedOnce) {
  const auto first = process(0, 2, absl::Milliseconds(20));
  const auto second = process(1, 2, absl::Milliseconds(20));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(launch(*first, str_cat("step", i), {0, 1}).ok());
  ASSERT_TRUE(launch(*second, "step0", {0, 1}).ok());
  EXPECT_TRUE(soon([&] {
    return log().find(
               "process 1 has not launched operation 2 among processes 0, 1, which is "
               "'step1' over data=2 (devices 0, 1) on process 0 since") != std::string::npos;
  })) << log();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const std::string text = log();
  EXPECT_THAT(text, HasSubstr("its last one among them is operation 1, 'step0' over"));
  EXPECT_EQ(text.find("operation 2 among"), text.rfind("operation 2 among"));
  EXPECT_TRUE(first->failure().ok() && second->failure().ok());
}

TEST_F(LaunchOrderTest, ALaunchThatDidNotHappenDoesNotCount) {
  const auto all = make(2);
  ASSERT_TRUE(launch(*all[0], "refused", {0, 1}).ok());
  all[0]->withdraw();
  for (const auto& one : all) ASSERT_TRUE(launch(*one, "step", {0, 1}).ok());
  EXPECT_TRUE(becomes_quiet());
  for (const auto& one : all) EXPECT_EQ(one->failure(), absl::OkStatus());
}

TEST_F(LaunchOrderTest, AnErrorThatNoDivergenceExplainsStays) {
  const auto all = make(2);
  for (const auto& one : all) ASSERT_TRUE(launch(*one, "step", {0, 1}).ok());
  EXPECT_EQ(all[0]->explain(absl::InternalError("something else")),
            absl::InternalError("something else"));
}

TEST_F(LaunchOrderTest, AnErrorWhoseReasonIsKnownAsksNobody) {
  LaunchOrder one({.processes = 2, .key_values = store_, .interval = absl::Hours(1)});
  ASSERT_TRUE(launch(one, "step", {0, 1}).ok());
  one.excuse();
  EXPECT_EQ(one.explain(absl::UnavailableError("gone")), absl::UnavailableError("gone"));
  EXPECT_EQ(store_->calls(), 0);
  // What is launched later has reasons of its own.
  ASSERT_TRUE(launch(one, "step", {0, 1}).ok());
  EXPECT_EQ(one.explain(absl::UnavailableError("gone")), absl::UnavailableError("gone"));
  EXPECT_GT(store_->calls(), 0);
}

TEST_F(LaunchOrderTest, AProcessThatIsStartedAgainIsComparedOnceAllBeginAgain) {
  auto all = make(2);
  for (int i = 0; i < 5; ++i)
    for (const auto& one : all) ASSERT_TRUE(launch(*one, "step", {0, 1}).ok());
  EXPECT_TRUE(becomes_quiet());
  all[1].reset();
  all[1] = process(1, 2);
  // The survivor goes on, the new one begins: other operations have the same numbers.
  for (const auto& one : all) ASSERT_TRUE(launch(*one, "restore", {0, 1}).ok());
  EXPECT_TRUE(becomes_quiet());
  EXPECT_TRUE(all[0]->failure().ok() && all[1]->failure().ok());
  EXPECT_THAT(log(), HasSubstr("process 1 was started again"));

  for (const auto& one : all) one->begin_again("second");
  for (const auto& one : all) ASSERT_TRUE(launch(*one, "step", {0, 1}).ok());
  EXPECT_TRUE(becomes_quiet());
  EXPECT_TRUE(all[0]->failure().ok() && all[1]->failure().ok());
  ASSERT_TRUE(launch(*all[0], "step", {0, 1}).ok());
  ASSERT_TRUE(launch(*all[1], "eval", {0, 1}).ok());
  EXPECT_TRUE(fails(*all[0]) && fails(*all[1]));
  EXPECT_THAT(reason(*all[0]), HasSubstr("operation 2 among"));
}

TEST_F(LaunchOrderTest, OfManyOthersAllAreLookedAtInTurn) {
  const int count = 20;
  const auto all = make(count);
  Processes processes;
  for (int i = 0; i < count; ++i) processes.push_back(i);
  for (int step = 0; step < 3; ++step)
    for (const auto& one : all) ASSERT_TRUE(launch(*one, "step", processes).ok());
  EXPECT_TRUE(becomes_quiet());
  for (int i = 0; i < count; ++i)
    ASSERT_TRUE(launch(*all[i], i == 13 ? "eval" : "step", processes).ok());
  for (const auto& one : all) EXPECT_TRUE(fails(*one));
  EXPECT_THAT(reason(*all[0]), AllOf(HasSubstr("'eval'"), HasSubstr("(devices 0, 1, 2, 3, 4, 5, "
                                                                    "6, ..., 19) on process 13")));
}

}  // namespace
}  // namespace tessera
