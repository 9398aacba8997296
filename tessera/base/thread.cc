#include "tessera/base/thread.h"

#include <pthread.h>

#include <system_error>

#include "tessera/base/strings.h"

namespace tessera {

Thread::Thread(std::string name, std::function<void()> body)
    : thread_([name = name.substr(0, 15), body = std::move(body)] {
        pthread_setname_np(pthread_self(), name.c_str());
        body();
      }) {}

Thread& Thread::operator=(Thread&& other) {
  join();  // std::thread's own assignment would end the process here
  thread_ = std::move(other.thread_);
  return *this;
}

void Thread::join() {
  if (thread_.joinable()) thread_.join();
}

ThreadPool::ThreadPool(const std::string& name, size_t threads, size_t queue_capacity)
    : tasks_(queue_capacity) {
  threads_.reserve(threads);
  for (size_t i = 0; i < threads; ++i) {
    try {
      threads_.emplace_back(str_cat(name, i), [this] { work(); });
    } catch (const std::system_error&) {
      if (threads_.empty()) throw;
      break;  // the system gives no more; those that run do all of the work
    }
  }
}

ThreadPool::~ThreadPool() {
  tasks_.close();
  threads_.clear();
}

void ThreadPool::submit(std::function<void()> task) {
  {
    std::lock_guard lock(mutex_);
    ++unfinished_;
  }
  tasks_.push(std::move(task));
}

void ThreadPool::wait() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return unfinished_ == 0; });
}

void ThreadPool::work() {
  while (auto task = tasks_.pop()) {
    (*task)();
    std::lock_guard lock(mutex_);
    if (--unfinished_ == 0) idle_.notify_all();
  }
}

void parallel_for(ThreadPool& pool, size_t count, const std::function<void(size_t)>& body) {
  std::mutex mutex;
  std::condition_variable done;
  size_t left = count;
  for (size_t i = 0; i < count; ++i) {
    pool.submit([&, i] {
      body(i);
      std::lock_guard lock(mutex);
      // Notified under the lock: the waiter owns `done` and may destroy it as soon as it sees zero.
      if (--left == 0) done.notify_all();
    });
  }
  std::unique_lock lock(mutex);
  done.wait(lock, [&] { return left == 0; });
}

}  // namespace tessera
