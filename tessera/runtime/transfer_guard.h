#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "tessera/base/status.h"
#include "tessera/ir/shape.h"

/// Who may move data between host and devices, and how much was moved where.
///
/// A transfer is **explicit** where a call asks for it by name: Array::from_host, from_shards,
/// from_process_local (host to device), device_put (device to device), Array::to_host (device to
/// host). It is **implicit** where it happens because of something else: a HostArray given to
/// call() (host to device), an array that call() has to lay out anew (device to device), to_text()
/// of an array (device to host). Who wraps these says which it is by a TransferSite. Constants are
/// part of a compiled program and move with it, and compiled programs' own traffic counts as
/// computation: neither is a transfer here.
///
/// Levels hold for a direction, in the whole process; a TransferGuard sets others for its thread.
/// That is process-wide and thread-local state, which this layer has nowhere else: what a guard is
/// to find is a transfer in code that was not told of any guard.
namespace tessera {

enum class TransferDirection { kHostToDevice, kDeviceToDevice, kDeviceToHost };
/// "host-to-device".
std::string_view to_string(TransferDirection direction);

/// What happens to a transfer. The first three leave explicit ones alone.
enum class TransferLevel {
  kAllow,
  kLog,               ///< a warning for each implicit one
  kDisallow,          ///< implicit ones are errors
  kLogExplicit,       ///< a warning for each one
  kDisallowExplicit,  ///< all are errors
};

/// Sets the level of the whole process, of all directions or of one. At first all is allowed.
void set_transfer_level(TransferLevel level);
void set_transfer_level(TransferDirection direction, TransferLevel level);
/// What holds in this thread.
TransferLevel transfer_level(TransferDirection direction);

/// A level for this thread while it lives; an inner one wins, and the outer one comes back. Other
/// threads, new ones too, have the process's. To be destroyed where it was made, innermost first.
class TransferGuard {
 public:
  explicit TransferGuard(TransferLevel level) : TransferGuard(std::nullopt, level) {}
  TransferGuard(TransferDirection direction, TransferLevel level)
      : TransferGuard(std::optional(direction), level) {}
  ~TransferGuard();
  TransferGuard(const TransferGuard&) = delete;
  TransferGuard& operator=(const TransferGuard&) = delete;

 private:
  TransferGuard(std::optional<TransferDirection> direction, TransferLevel level);

  std::optional<TransferLevel> before_[3];
};

/// At most `bytes` are transferred in this thread while it lives, explicitly or not: one that would
/// go beyond is an error, RESOURCE_EXHAUSTED, and does not happen. Counts against outer ones too.
class TransferBudget {
 public:
  /// Of one direction, or of all together.
  explicit TransferBudget(int64_t bytes, std::optional<TransferDirection> direction = {});
  ~TransferBudget();
  TransferBudget(const TransferBudget&) = delete;
  TransferBudget& operator=(const TransferBudget&) = delete;

  int64_t used_bytes() const { return used_; }

 private:
  friend class TransferBudgets;

  const int64_t bytes_;
  const std::optional<TransferDirection> direction_;
  int64_t used_ = 0;
  TransferBudget* const outer_;
};

/// Where a transfer was asked for, and whether by name. The last argument of whatever transfers:
/// left out, it is the caller's line.
struct TransferSite {
  TransferSite(std::source_location where = std::source_location::current())  // NOLINT: implicit
      : where(where) {}
  static TransferSite implicit(std::source_location where = std::source_location::current()) {
    TransferSite site(where);
    site.is_implicit = true;
    return site;
  }

  std::source_location where;
  bool is_implicit = false;
};

/// A transfer that is about to happen.
struct PlannedTransfer {
  TransferDirection direction;
  const Shape& shape;  ///< of the whole array
  int64_t bytes;       ///< that this process moves, replicas included
  /// For messages: "to CpuDevice(id=0)". Called only where one is written.
  absl::FunctionRef<std::string()> devices;
};

/// Asks the guards of this thread, and counts the transfer where they allow it. Errors:
/// INVALID_ARGUMENT "Disallowed host-to-device transfer: ..." gives shape, dtype, bytes, devices
/// and source location; RESOURCE_EXHAUSTED of a budget.
Status check_transfer(const PlannedTransfer& transfer, const TransferSite& site);

/// While it lives, transfers of this thread are neither checked nor counted: they are parts of one
/// that was.
class TransferUnderWay {
 public:
  TransferUnderWay();
  ~TransferUnderWay();
  TransferUnderWay(const TransferUnderWay&) = delete;
  TransferUnderWay& operator=(const TransferUnderWay&) = delete;
};

/// What was transferred from one line of source so far.
struct TransferCount {
  std::string file;
  int64_t line = 0;
  TransferDirection direction = TransferDirection::kHostToDevice;
  bool is_implicit = false;
  int64_t transfers = 0;
  int64_t bytes = 0;
};
/// Of the whole process since it started, by descending bytes.
std::vector<TransferCount> transfer_counts();

}  // namespace tessera
