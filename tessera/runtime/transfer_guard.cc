#include "tessera/runtime/transfer_guard.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "tessera/base/log.h"

namespace tessera {
namespace {

constexpr size_t kDirections = 3;

std::atomic<TransferLevel> process_levels[kDirections] = {};

struct ThreadState {
  std::array<std::optional<TransferLevel>, kDirections> levels;
  TransferBudget* budget = nullptr;  // the innermost
  int under_way = 0;
};
thread_local ThreadState this_thread;

size_t index(TransferDirection direction) { return static_cast<size_t>(direction); }

/// Counts by source line. Pointers to names of files differ between object files, so equal lines
/// may have several entries, which list() puts together.
class Counts {
 public:
  void add(const PlannedTransfer& transfer, const TransferSite& site) {
    const Key key = {site.where.file_name(), site.where.line(), index(transfer.direction),
                     site.is_implicit};
    const std::lock_guard lock(mutex_);
    Sum& sum = sums_[key];
    ++sum.transfers;
    sum.bytes += transfer.bytes;
  }

  std::vector<TransferCount> list() const {
    std::map<std::tuple<std::string, uint32_t, size_t, bool>, Sum> merged;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [key, sum] : sums_) {
        Sum& into = merged[key];
        into.transfers += sum.transfers;
        into.bytes += sum.bytes;
      }
    }
    std::vector<TransferCount> result;
    for (const auto& [key, sum] : merged) {
      const auto& [file, line, direction, is_implicit] = key;
      result.push_back({file, line, static_cast<TransferDirection>(direction), is_implicit,
                        sum.transfers, sum.bytes});
    }
    std::stable_sort(
        result.begin(), result.end(),
        [](const TransferCount& a, const TransferCount& b) { return a.bytes > b.bytes; });
    return result;
  }

 private:
  using Key = std::tuple<const char*, uint32_t, size_t, bool>;
  struct Sum {
    int64_t transfers = 0;
    int64_t bytes = 0;
  };

  mutable std::mutex mutex_;
  absl::flat_hash_map<Key, Sum> sums_;  // guarded by mutex_
};

Counts& counts() {
  static Counts& all = *new Counts;  // threads may transfer until the process ends
  return all;
}

// As the source tree has it, whether the compiler was given absolute paths or, as ccache does where
// it has a base_dir, some relative to the build folder.
std::string_view source_file(const TransferSite& site) {
  std::string_view file = site.where.file_name();
  if (file.starts_with(TESSERA_SOURCE_DIR "/")) file.remove_prefix(sizeof TESSERA_SOURCE_DIR);
  while (file.starts_with("../")) file.remove_prefix(3);
  return file;
}

std::string text(const PlannedTransfer& transfer, const TransferSite& site) {
  return str_cat(to_string(transfer.direction), " transfer: ", to_string(transfer.shape), " (",
                 transfer.bytes, " bytes) ", transfer.devices(), ", ",
                 site.is_implicit ? "implicit" : "explicit", ", at ", source_file(site), ":",
                 site.where.line(), " (", site.where.function_name(), ")");
}

std::string_view remedy(TransferDirection direction, bool is_implicit) {
  if (!is_implicit) return "allow it by a TransferGuard of level disallow or less";
  switch (direction) {
    case TransferDirection::kHostToDevice:
      return "put the value on the devices by Array::from_host";
    case TransferDirection::kDeviceToDevice:
      return "lay the array out by device_put";
    case TransferDirection::kDeviceToHost:
      return "read the array by to_host";
  }
  return "";
}

}  // namespace

/// The chain of this thread's budgets.
class TransferBudgets {
 public:
  static Status spend(const PlannedTransfer& transfer, const TransferSite& site) {
    for (const TransferBudget* one = this_thread.budget; one != nullptr; one = one->outer_) {
      if (!applies(*one, transfer) || transfer.bytes <= one->bytes_ - one->used_) continue;
      return absl::ResourceExhaustedError(str_cat("Over the budget of ", one->bytes_,
                                                  " bytes, of which ", one->used_,
                                                  " are used: ", text(transfer, site)));
    }
    for (TransferBudget* one = this_thread.budget; one != nullptr; one = one->outer_)
      if (applies(*one, transfer)) one->used_ += transfer.bytes;
    return absl::OkStatus();
  }

 private:
  static bool applies(const TransferBudget& budget, const PlannedTransfer& transfer) {
    return !budget.direction_ || *budget.direction_ == transfer.direction;
  }
};

std::string_view to_string(TransferDirection direction) {
  static constexpr std::string_view kNames[] = {"host-to-device", "device-to-device",
                                                "device-to-host"};
  return kNames[index(direction)];
}

void set_transfer_level(TransferLevel level) {
  for (auto& direction : process_levels) direction = level;
}

void set_transfer_level(TransferDirection direction, TransferLevel level) {
  process_levels[index(direction)] = level;
}

TransferLevel transfer_level(TransferDirection direction) {
  const size_t i = index(direction);
  return this_thread.levels[i].value_or(process_levels[i].load(std::memory_order_relaxed));
}

TransferGuard::TransferGuard(std::optional<TransferDirection> direction, TransferLevel level) {
  for (size_t i = 0; i < kDirections; ++i) {
    before_[i] = this_thread.levels[i];
    if (!direction || index(*direction) == i) this_thread.levels[i] = level;
  }
}

TransferGuard::~TransferGuard() {
  std::copy(std::begin(before_), std::end(before_), this_thread.levels.begin());
}

TransferBudget::TransferBudget(int64_t bytes, std::optional<TransferDirection> direction)
    : bytes_(bytes), direction_(direction), outer_(this_thread.budget) {
  this_thread.budget = this;
}

TransferBudget::~TransferBudget() { this_thread.budget = outer_; }

TransferUnderWay::TransferUnderWay() { ++this_thread.under_way; }
TransferUnderWay::~TransferUnderWay() { --this_thread.under_way; }

Status check_transfer(const PlannedTransfer& transfer, const TransferSite& site) {
  if (this_thread.under_way > 0) return absl::OkStatus();
  const TransferLevel level = transfer_level(transfer.direction);
  if (level == TransferLevel::kDisallowExplicit ||
      (level == TransferLevel::kDisallow && site.is_implicit)) {
    return invalid_argument("Disallowed ", text(transfer, site), "; ",
                            remedy(transfer.direction, site.is_implicit));
  }
  RETURN_IF_ERROR(TransferBudgets::spend(transfer, site));
  if (level == TransferLevel::kLogExplicit || (level == TransferLevel::kLog && site.is_implicit))
    log_warning(text(transfer, site));
  counts().add(transfer, site);
  return absl::OkStatus();
}

std::vector<TransferCount> transfer_counts() { return counts().list(); }

}  // namespace tessera
