#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "tessera/base/status.h"
#include "tessera/base/thread.h"

namespace tessera {

/// Threads that take inputs in order, make an output of each at the same time as others, and hand
/// the outputs out in the inputs' order. A bounded number is made ahead. next() is for one thread
/// at a time.
template <typename Input, typename Output>
class OrderedWorkers {
 public:
  struct Options {
    std::string name = "worker";  // of the threads
    int workers = 1;
    int64_t ahead = 4;  // outputs made and not yet handed out, at most
    /// Gives the next input. Calls never overlap. When there are no more, it must say so in the
    /// input, as often as it is called.
    std::function<Input()> take;
    /// Makes an output; called from several threads at once.
    std::function<Output(Input)> make;
  };

  explicit OrderedWorkers(Options options) : options_(std::move(options)), slots_(options_.ahead) {
    CHECK(options_.workers >= 1 && options_.ahead >= 1);
    for (int i = 0; i < options_.workers; ++i) {
      try {
        threads_.emplace_back(str_cat(options_.name, "-", i), [this] { work(); });
      } catch (const std::system_error&) {
        if (threads_.empty()) throw;
        break;  // the system gives no more; those that run do all of the work
      }
    }
  }

  /// Waits for the outputs being made, then joins the threads.
  ~OrderedWorkers() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    room_.notify_all();
    threads_.clear();
  }

  /// The next output; waits until it is made.
  Output next() {
    std::unique_lock lock(mutex_);
    std::optional<Output>& wanted = slot(next_given_);
    ready_.wait(lock, [&] { return wanted.has_value(); });
    Output output = *std::move(wanted);
    wanted.reset();
    ++next_given_;
    lock.unlock();
    room_.notify_one();
    return output;
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      room_.wait(lock, [this] { return stopping_ || has_room(); });
      if (stopping_) return;
      const int64_t number = next_taken_++;
      Input input = options_.take();
      lock.unlock();
      Output output = options_.make(std::move(input));
      lock.lock();
      slot(number) = std::move(output);
      ready_.notify_one();
    }
  }

  bool has_room() const { return next_taken_ < next_given_ + static_cast<int64_t>(slots_.size()); }
  std::optional<Output>& slot(int64_t number) { return slots_[number % slots_.size()]; }

  const Options options_;
  std::mutex mutex_;  // guards all that follows, but threads_
  std::condition_variable room_;
  std::condition_variable ready_;
  std::vector<std::optional<Output>> slots_;  // a ring
  int64_t next_taken_ = 0;
  int64_t next_given_ = 0;
  bool stopping_ = false;
  std::vector<Thread> threads_;
};

}  // namespace tessera
