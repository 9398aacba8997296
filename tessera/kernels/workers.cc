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

/// A call's work, on the stack of the thread that calls.
struct Job {
  const Body& body;
  const int64_t count;
  std::atomic<int64_t> next = 0;
  int places = 0;  // for further threads; this and what follows: guarded by Workers::mutex_
  int helpers = 0;
  std::exception_ptr error;
};

/// As many threads compute at a time, those that call among them, as there are cores: who comes
/// while all are busy waits, since two calls at once on the same cores only take each other's
/// caches. A core that becomes free helps a call that is under way, or lets the next one begin.
class Workers {
 public:
  Workers() {
    const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    free_cores_ = cores;
    for (int i = 0; i + 1 < cores; ++i)
      threads_.emplace_back(str_cat("kernel", i), [this] { work(); });
  }
  ~Workers() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    help_.notify_all();
  }

  void run(int helpers, int64_t count, const Body& body) {
    if (computes_) {  // inside a body: this thread has its core
      for (int64_t i = 0; i < count; ++i) body(i);
      return;
    }
    Job job{.body = body, .count = count};
    const auto places = static_cast<int>(std::clamp<int64_t>(count - 1, 0, std::max(0, helpers)));
    {
      std::unique_lock lock(mutex_);
      begin_.wait(lock, [&] { return free_cores_ > 0; });
      --free_cores_;
      job.places = places;
      if (places > 0) jobs_.push_back(&job);
    }
    for (int i = 0; i < places; ++i) help_.notify_one();
    take_all(job);
    std::unique_lock lock(mutex_);
    // Who has not come by now finds no place, and is not waited for.
    std::erase(jobs_, &job);
    leave();
    end_.wait(lock, [&] { return job.helpers == 0; });
    if (job.error != nullptr) std::rethrow_exception(job.error);
  }

 private:
  void take_all(Job& job) {
    computes_ = true;
    try {
      for (int64_t i = job.next++; i < job.count; i = job.next++) job.body(i);
    } catch (...) {
      job.next = job.count;  // the others may stop
      std::lock_guard lock(mutex_);
      job.error = std::current_exception();
    }
    computes_ = false;
  }

  // The core of a thread that has nothing more to do.
  void leave() {
    ++free_cores_;
    begin_.notify_one();
    if (!jobs_.empty()) help_.notify_one();
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      help_.wait(lock, [&] { return stopping_ || (free_cores_ > 0 && !jobs_.empty()); });
      if (stopping_) return;
      Job& job = *jobs_.front();
      if (--job.places == 0) jobs_.erase(jobs_.begin());
      ++job.helpers;
      --free_cores_;
      lock.unlock();
      take_all(job);
      lock.lock();
      leave();
      if (--job.helpers == 0) end_.notify_all();
    }
  }

  static thread_local bool computes_;

  std::mutex mutex_;
  std::condition_variable begin_, help_, end_;
  std::vector<Job*> jobs_;  // that have places; this and what follows: guarded by mutex_
  int free_cores_ = 0;
  bool stopping_ = false;
  std::vector<Thread> threads_;
};

thread_local bool Workers::computes_ = false;

}  // namespace

void run_parallel(int threads, int64_t count, const Body& body) {
  // Handlers are called with nothing but their buffers, so what they share belongs to the process.
  static Workers workers;
  workers.run(threads - 1, count, body);
}

}  // namespace tessera::kernels
