#include "tessera/runtime/executable_cache.h"

namespace tessera {

std::shared_ptr<ExecutableCache::Slot> ExecutableCache::slot(std::string key) {
  std::lock_guard lock(mutex_);
  std::shared_ptr<Slot>& slot = slots_[std::move(key)];
  if (slot == nullptr) slot = std::make_shared<Slot>();
  return slot;
}

Result<ExecutableCache::Lookup> ExecutableCache::get(std::string_view text,
                                                     const pjrt::CompileOptions& options) {
  // The options end where the text starts: they hold their own lengths.
  const auto entry = slot(str_cat(pjrt::encode(options), text));
  std::lock_guard compile_once(entry->mutex);
  if (entry->program != nullptr) {
    std::lock_guard lock(mutex_);
    ++counts_.hits;
    return Lookup{entry->program, true};
  }
  const absl::Duration start = clock_.elapsed();
  ASSIGN_OR_RETURN(pjrt::Executable executable, client_->compile(text, options));
  const double seconds = absl::ToDoubleSeconds(clock_.elapsed() - start);
  entry->program =
      std::make_shared<const CachedExecutable>(CachedExecutable{std::move(executable), seconds});
  std::lock_guard lock(mutex_);
  ++counts_.compilations;
  counts_.compile_seconds += seconds;
  return Lookup{entry->program, false};
}

ExecutableCache::Counts ExecutableCache::counts() const {
  std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace tessera
