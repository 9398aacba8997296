#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tessera {

/// A thread with a name that gdb, perf and top show (its first 15 bytes), joined when this is
/// destroyed. `body` must not throw, and must end by itself or by something that its owner does
/// before.
class Thread {
 public:
  Thread() = default;
  Thread(std::string name, std::function<void()> body);
  ~Thread() { join(); }
  Thread(Thread&&) = default;
  Thread& operator=(Thread&& other);

  /// Waits for the body to end. Does nothing where there is no thread, or it was joined before.
  void join();

 private:
  std::thread thread_;
};

/// A queue of at most `capacity` items between threads. Safe for any number of producers and
/// consumers.
template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(size_t capacity) : capacity_(capacity) {}

  /// Waits while the queue is full. False, and `item` is dropped, once it is closed.
  bool push(T item) {
    std::unique_lock lock(mutex_);
    not_full_.wait(lock, [&] { return closed_ || items_.size() < capacity_; });
    if (closed_) return false;
    items_.push_back(std::move(item));
    not_empty_.notify_one();
    return true;
  }

  /// Waits while the queue is empty. Nothing once it is closed and drained.
  std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    not_empty_.wait(lock, [&] { return closed_ || !items_.empty(); });
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    not_full_.notify_one();
    return item;
  }

  /// No more items come in; those inside may still be taken. Wakes every waiter.
  void close() {
    std::lock_guard lock(mutex_);
    closed_ = true;
    not_full_.notify_all();
    not_empty_.notify_all();
  }

  size_t size() const {
    std::lock_guard lock(mutex_);
    return items_.size();
  }

 private:
  const size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable not_full_, not_empty_;
  std::deque<T> items_;  // guarded by mutex_
  bool closed_ = false;  // guarded by mutex_
};

/// Threads that run tasks in the order given. Tasks must not throw, nor submit to their own pool (a
/// full queue would wait for itself). Safe for any thread. Destruction runs what was submitted,
/// then joins.
class ThreadPool {
 public:
  /// `name` gets the thread's number appended. submit() waits while `queue_capacity` tasks wait.
  ThreadPool(const std::string& name, size_t threads, size_t queue_capacity);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  void submit(std::function<void()> task);
  /// Returns when every task submitted so far has run.
  void wait();
  size_t size() const { return threads_.size(); }

 private:
  void work();

  BoundedQueue<std::function<void()>> tasks_;
  std::mutex mutex_;
  std::condition_variable idle_;
  size_t unfinished_ = 0;  // guarded by mutex_
  std::vector<Thread> threads_;
};

/// Runs body(i) for each i in [0, count) on the pool, and returns when all have run.
void parallel_for(ThreadPool& pool, size_t count, const std::function<void(size_t)>& body);

}  // namespace tessera
