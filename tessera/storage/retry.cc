#include "tessera/storage/retry.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <random>
#include <utility>

namespace tessera {

Retrier::Retrier(const RetryPolicy& policy, Clock& clock, Random random)
    : policy_(policy), clock_(clock), random_(std::move(random)), start_(clock.elapsed()) {}

absl::Duration Retrier::left() const { return policy_.deadline - (clock_.elapsed() - start_); }

bool Retrier::wait(std::optional<absl::Duration> asked) {
  ++failures_;
  if (failures_ >= policy_.attempts) return false;
  const int doublings = std::min(failures_ - 1, 20);
  const absl::Duration bound = std::min(policy_.longest, policy_.first * (1 << doublings));
  const absl::Duration wait = std::max(bound * random_(), asked.value_or(absl::ZeroDuration()));
  if (wait >= left()) return false;
  clock_.sleep(wait);
  ++attempts_;
  return true;
}

Retrier::Random seeded_random() {
  struct State {
    std::mutex mutex;
    std::mt19937_64 engine{std::random_device{}()};
  };
  return [state = std::make_shared<State>()] {
    const std::lock_guard lock(state->mutex);
    return std::uniform_real_distribution<double>(0, 1)(state->engine);
  };
}

}  // namespace tessera
