#include "tessera/kernels/workers.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "tessera/base/strings.h"
#include "tessera/base/thread.h"

namespace tessera::kernels {
namespace {

using Body = std::function<void(int64_t)>;

class Workers {
 public:
  Workers() {
    const int cores = static_cast<int>(std::thread::hardware_concurrency());
    for (int i = 0; i + 1 < cores; ++i)
      threads_.emplace_back(str_cat("kernel", i), [this] { work(); });
  }
  ~Workers() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    start_.notify_all();
  }

  void run(int helpers, int64_t count, const Body& body) {
    helpers = std::min({helpers, static_cast<int>(threads_.size()), static_cast<int>(count) - 1});
    std::unique_lock busy(in_use_, std::try_to_lock);
    if (helpers <= 0 || !busy) {
      for (int64_t i = 0; i < count; ++i) body(i);
      return;
    }
    error_ = nullptr;
    {
      std::lock_guard lock(mutex_);
      body_ = &body;
      count_ = count;
      next_ = 0;
      places_ = helpers;
    }
    for (int i = 0; i < helpers; ++i) start_.notify_one();
    take_all(body, count);
    // Who has not woken up by now finds no place, and is not waited for.
    std::unique_lock lock(mutex_);
    places_ = 0;
    done_.wait(lock, [&] { return active_ == 0; });
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

 private:
  void take_all(const Body& body, int64_t count) {
    try {
      for (int64_t i = next_++; i < count; i = next_++) body(i);
    } catch (...) {
      next_ = count;  // the others may stop
      std::lock_guard lock(mutex_);
      error_ = std::current_exception();
    }
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      start_.wait(lock, [&] { return stopping_ || places_ > 0; });
      if (stopping_) return;
      --places_;
      ++active_;
      const Body& body = *body_;
      const int64_t count = count_;
      lock.unlock();
      take_all(body, count);
      lock.lock();
      if (--active_ == 0) done_.notify_one();
    }
  }

  std::mutex in_use_;  // held for the length of a job
  std::mutex mutex_;
  std::condition_variable start_, done_;
  const Body* body_ = nullptr;  // these six: guarded by mutex_
  int64_t count_ = 0;
  int places_ = 0, active_ = 0;
  bool stopping_ = false;
  std::exception_ptr error_;
  std::atomic<int64_t> next_ = 0;
  std::vector<Thread> threads_;
};

}  // namespace

void run_parallel(int threads, int64_t count, const Body& body) {
  // Handlers are called with nothing but their buffers, so what they share belongs to the process.
  static Workers workers;
  workers.run(threads - 1, count, body);
}

}  // namespace tessera::kernels
