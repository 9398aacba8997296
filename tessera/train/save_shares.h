#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/tree.h"
#include "tessera/ir/box.h"
#include "tessera/runtime/array.h"

namespace tessera {

/// Something that any one of its holders may do.
struct SharedWork {
  int64_t bytes = 0;
  std::vector<int64_t> holders;
};
/// For each the holder that does it, so that all have about as much to do: the largest first, each
/// given to its holder that has least. The same for the same `works`.
std::vector<int64_t> spread_evenly(std::span<const SharedWork> works);

/// Which device each part of a state is saved from: each once, spread evenly over the devices that
/// hold it, and so over their processes. Every process finds the same.
class SaveShares {
 public:
  explicit SaveShares(const Tree<Array>& state);
  /// The id of the device that saves `box` of an array of that state.
  int64_t device_of(const std::string& path, const Box& box) const;

 private:
  std::map<std::string, std::map<Box, int64_t>> devices_;
};

}  // namespace tessera
