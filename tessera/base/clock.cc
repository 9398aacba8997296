#include "tessera/base/clock.h"

#include <chrono>
#include <thread>

#include "absl/time/clock.h"
#include "tessera/base/status.h"

namespace tessera {

absl::Time RealClock::now() const { return absl::Now(); }

absl::Duration RealClock::elapsed() const {
  return absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

void RealClock::sleep(absl::Duration duration) {
  std::this_thread::sleep_for(absl::ToChronoNanoseconds(duration));
}

absl::Time FakeClock::now() const { return start_ + elapsed(); }

absl::Duration FakeClock::elapsed() const {
  std::lock_guard lock(mutex_);
  return elapsed_;
}

void FakeClock::advance(absl::Duration duration) {
  CHECK(duration >= absl::ZeroDuration());
  std::lock_guard lock(mutex_);
  elapsed_ += duration;
}

}  // namespace tessera
