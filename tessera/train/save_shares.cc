#include "tessera/train/save_shares.h"

#include <algorithm>
#include <numeric>

namespace tessera {

std::vector<int64_t> spread_evenly(std::span<const SharedWork> works) {
  std::vector<size_t> order(works.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return works[a].bytes > works[b].bytes; });
  std::map<int64_t, int64_t> loads;  // bytes by holder
  std::vector<int64_t> chosen(works.size());
  for (const size_t i : order) {
    const std::vector<int64_t>& holders = works[i].holders;
    chosen[i] = *std::min_element(holders.begin(), holders.end(), [&](int64_t a, int64_t b) {
      return std::pair(loads[a], a) < std::pair(loads[b], b);
    });
    loads[chosen[i]] += works[i].bytes;
  }
  return chosen;
}

SaveShares::SaveShares(const Tree<Array>& state) {
  std::vector<SharedWork> works;
  std::vector<int64_t*> results;
  for (const auto& [path, array] : state) {
    const NamedSharding& sharding = array.sharding();
    std::map<Box, std::vector<int64_t>> holders;
    for (int64_t position = 0; position < sharding.mesh().size(); ++position) {
      holders[sharding.shard_box(array.shape().dims, position)].push_back(
          sharding.mesh().device_ids()[position]);
    }
    for (auto& [box, devices] : holders) {
      works.push_back({Shape{array.shape().dtype, box.dims}.host_bytes(), std::move(devices)});
      results.push_back(&devices_[path][box]);
    }
  }
  const std::vector<int64_t> chosen = spread_evenly(works);
  for (size_t i = 0; i < chosen.size(); ++i) *results[i] = chosen[i];
}

int64_t SaveShares::device_of(const std::string& path, const Box& box) const {
  return devices_.at(path).at(box);
}

}  // namespace tessera
