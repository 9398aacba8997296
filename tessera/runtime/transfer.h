#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/runtime/array.h"
#include "tessera/runtime/compiled_function.h"
#include "tessera/sharding/transfer_plan.h"

/// For the functions of this layer: parts of tensors from devices to devices.
namespace tessera {

/// A tensor that goes from the devices that hold it to others.
struct Transfer {
  std::vector<Holding> from;  ///< each one's part is a piece of the array
  std::vector<Holding> to;    ///< all devices that shall hold a part of the result
  Shape shape;                ///< the result
  NamedSharding sharding;     ///< over a mesh that has the devices of `to`
};

/// Starts it by a compiled program over all devices that hold the tensor before or after, and
/// returns at once. Each process with one of them must call; in others nothing happens. The result
/// has pieces on the devices of `to` that are this process's. Errors, the same in every process and
/// before anything has started: what plan_transfer() refuses; devices of different kinds.
Result<Array> transfer(Runtime& runtime, const Array& array, const Transfer& what);

/// OK where all devices are of one kind; else an error that names two that are not.
/// `kinds`: by device id.
Status check_same_kind(const std::map<int64_t, std::string>& kinds);

/// Programs of transfers that were made, by what they transfer. Safe to use from several threads.
class TransferCache {
 public:
  struct Entry {
    TransferPlan plan;
    std::optional<CompiledFunction> program;
    /// What devices pass that hold nothing at the beginning.
    std::shared_ptr<const HostArray> filler;
  };
  /// Null when there is none.
  std::shared_ptr<const Entry> find(const std::string& key) const;
  /// Keeps the first of two.
  std::shared_ptr<const Entry> add(const std::string& key, Entry entry);

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Entry>> entries_;  // guarded by mutex_
};

}  // namespace tessera
