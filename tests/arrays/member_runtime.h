#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "tessera/coord/exchange.h"
#include "tessera/runtime/array.h"
#include "tessera/runtime/testing.h"
#include "tests/processes/processes.h"

/// What bodies of these tests share.
namespace tessera::process_testing {

/// A runtime over the devices of all processes; the member keeps its client.
inline Result<std::unique_ptr<Runtime>> runtime_of(Member& member) {
  ASSIGN_OR_RETURN(pjrt::Client * client, member.client());
  return std::make_unique<Runtime>(
      std::shared_ptr<const pjrt::Client>(std::shared_ptr<void>(), client));
}

/// The ids of all devices, ascending.
inline std::vector<int64_t> all_ids(const Runtime& runtime) {
  std::vector<int64_t> ids;
  for (const pjrt::Device& device : runtime.client().devices()) ids.push_back(device.id());
  return ids;
}

/// A layout over the devices at these places of all_ids(); CHECKs.
inline NamedSharding over(const Runtime& runtime, std::vector<MeshAxis> axes,
                          const std::vector<int>& places, PartitionSpec spec) {
  const auto all = all_ids(runtime);
  std::vector<int64_t> ids;
  for (int place : places) ids.push_back(all.at(place));
  auto mesh = Mesh::create(std::move(axes), std::move(ids));
  CHECK_MSG(mesh.ok(), mesh.status().ToString());
  return testing::sharded(*mesh, std::move(spec));
}

/// 0, 1, 2, ... as f32.
inline HostArray counted(Dims dims) {
  HostArray array(Shape{DType::kF32, std::move(dims)});
  std::iota(array.as<float>().begin(), array.as<float>().end(), 0.0f);
  return array;
}

inline bool same_bits(const HostArray& a, const HostArray& b) {
  return a.shape() == b.shape() && std::ranges::equal(a.bytes(), b.bytes());
}

/// That this process's parts of `array` are those of `whole`, bit by bit.
inline Status check_parts(const Array& array, const HostArray& whole) {
  ASSIGN_OR_RETURN(const auto shards, array.addressable_shards());
  for (const Array::Shard& shard : shards) {
    ASSIGN_OR_RETURN(const HostArray part, shard.buffer->to_host());
    if (!same_bits(part, slice(whole, shard.box))) {
      return data_loss("part ", to_string(shard.box), " of ",
                       describe(array.shape(), array.sharding()), " at ", shard.position,
                       " is wrong");
    }
  }
  return absl::OkStatus();
}

/// How the processes of a body compare what they have.
inline GatherTexts gather_through(coord::Exchange& exchange) {
  return [&exchange](const std::string& own) { return exchange.gather_texts(own); };
}

}  // namespace tessera::process_testing
