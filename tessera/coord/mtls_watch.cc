#include "tessera/coord/mtls_watch.h"

#include "tessera/base/log.h"
#include "tessera/base/strings.h"

namespace tessera::coord {

MtlsWatch::MtlsWatch(MtlsConfig config, absl::Duration interval)
    : config_(std::move(config)), interval_(interval) {
  if (config_.enabled()) thread_ = Thread("mtls-watch", [this] { run(); });
}

MtlsWatch::~MtlsWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_.notify_all();
  thread_.join();
}

void MtlsWatch::run() {
  std::unique_lock lock(mutex_);
  while (!stop_.wait_for(lock, absl::ToChronoNanoseconds(interval_), [&] { return stopping_; }))
    look();
}

void MtlsWatch::look() {
  const Status now = config_.check_files();
  const bool stays = now == seen_;
  seen_ = now;
  if (!stays || now == warned_) return;
  warned_ = now;
  if (now.ok()) {
    log_info("coordinator: its certificate files are good again");
  } else {
    log_warning("coordinator: nobody new can connect until this is mended: ",
                from_absl(now.message()));
  }
}

}  // namespace tessera::coord
