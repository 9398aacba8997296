#include "tessera/base/stack_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"

namespace tessera {
namespace {

struct Place {
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<int> thread = 0;
  bool over = false;

  void leave() {
    const std::lock_guard lock(mutex);
    over = true;
    changed.notify_all();
  }
};

[[gnu::noinline]] void wait_in_this_function(Place& place) {
  std::unique_lock lock(place.mutex);
  place.thread = this_thread_id();
  place.changed.wait(lock, [&] { return place.over; });
  asm volatile("");  // no tail call
}

class StackTrace : public testing::Test {
 protected:
  StackTrace() {
    while (place_.thread == 0) std::this_thread::yield();
    const std::lock_guard lock(place_.mutex);  // it has begun to wait
  }
  ~StackTrace() override {
    place_.leave();
    other_.join();
  }
  Place place_;
  std::thread other_{[this] { wait_in_this_function(place_); }};
};

TEST_F(StackTrace, NamesTheFunctionsThatAnotherThreadIsIn) {
  const ThreadStack stack = thread_stack(place_.thread);
  EXPECT_EQ(stack.thread, place_.thread);
  EXPECT_TRUE(std::any_of(stack.frames.begin(), stack.frames.end(), [](const std::string& frame) {
    return absl::StrContains(frame, "wait_in_this_function");
  })) << absl::StrJoin(stack.frames, "\n");
}

TEST_F(StackTrace, IsOfAllThreadsAlsoTheCallers) {
  const std::vector<ThreadStack> stacks = thread_stacks();
  const auto of = [&](int thread) {
    return std::find_if(stacks.begin(), stacks.end(),
                        [&](const ThreadStack& stack) { return stack.thread == thread; });
  };
  ASSERT_NE(of(place_.thread), stacks.end());
  ASSERT_NE(of(this_thread_id()), stacks.end());
  EXPECT_TRUE(absl::StrContains(to_text({*of(this_thread_id())}), "thread_stack"));
}

TEST_F(StackTrace, IsEmptyWhereAThreadBlocksSignals) {
  Place place;
  std::thread deaf([&] {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    wait_in_this_function(place);
  });
  while (place.thread == 0) std::this_thread::yield();
  EXPECT_TRUE(thread_stack(place.thread).frames.empty());
  EXPECT_FALSE(thread_stack(place_.thread).frames.empty());  // the next one is answered again
  place.leave();
  deaf.join();
}

TEST_F(StackTrace, IsEmptyForAThreadThatIsNotThere) {
  EXPECT_TRUE(thread_stack(1 << 30).frames.empty());
}

// What unwinds stacks holds a lock then, which a thread that is interrupted must not want again.
TEST_F(StackTrace, DoesNotStopThreadsThatThrow) {
  std::atomic<bool> over = false;
  std::atomic<int> thrown = 0, thread = 0;
  std::thread throws([&] {
    thread = this_thread_id();
    while (!over) {
      try {
        throw std::runtime_error("as Gloo does");
      } catch (const std::exception&) {
        ++thrown;
      }
    }
  });
  while (thread == 0) std::this_thread::yield();
  for (int i = 0; i < 300; ++i) thread_stack(thread);
  const int before = thrown;
  while (thrown < before + 1000) std::this_thread::yield();  // it goes on
  over = true;
  throws.join();
}

TEST(StackText, TellsThreadsThatDoTheSameOnce) {
  EXPECT_EQ(to_text({{1, "a", {"f", "main"}}, {2, "b", {}}, {3, "c", {"f", "main"}}}),
            "thread a (1), c (3):\n  f\n  main\nthread b (2):\n  does not answer\n");
}

}  // namespace
}  // namespace tessera
