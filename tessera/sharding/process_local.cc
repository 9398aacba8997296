#include "tessera/sharding/process_local.h"

#include <algorithm>
#include <map>
#include <set>

namespace tessera {
namespace {

// Which of a dimension's parts a process holds.
using PartNumbers = std::set<int64_t>;

// By dimension and process.
std::vector<std::map<int64_t, PartNumbers>> held_parts(const NamedSharding& sharding, size_t rank,
                                                       std::span<const int64_t> process_of) {
  Dims numbers(rank);
  for (size_t dim = 0; dim < rank; ++dim) numbers[dim] = sharding.parts(static_cast<int>(dim));
  std::vector<std::map<int64_t, PartNumbers>> held(rank);
  for (size_t position = 0; position < process_of.size(); ++position) {
    const Box box = sharding.shard_box(numbers, static_cast<int64_t>(position));
    for (size_t dim = 0; dim < rank; ++dim) held[dim][process_of[position]].insert(box.start[dim]);
  }
  return held;
}

// How many groups of processes there are in a dimension, each with parts of its own; nullopt where
// processes hold different numbers of parts or share some.
std::optional<int64_t> uniform_groups(const std::map<int64_t, PartNumbers>& held, int64_t parts) {
  std::set<PartNumbers> distinct;
  for (const auto& [process, numbers] : held) distinct.insert(numbers);
  const size_t each = distinct.begin()->size();
  size_t all = 0;
  for (const PartNumbers& numbers : distinct) {
    if (numbers.size() != each) return std::nullopt;
    all += numbers.size();
  }
  if (all != static_cast<size_t>(parts)) return std::nullopt;  // some part is counted twice
  return static_cast<int64_t>(distinct.size());
}

}  // namespace

Result<ProcessLocalData> fit_process_local(const NamedSharding& sharding, const Dims& local_dims,
                                           const std::optional<Dims>& global_dims,
                                           std::span<const int64_t> process_of, int64_t process) {
  const size_t rank = local_dims.size();
  if (static_cast<int64_t>(process_of.size()) != sharding.mesh().size()) {
    return invalid_argument("processes are given for ", process_of.size(),
                            " devices, the mesh has ", sharding.mesh().size());
  }
  if (sharding.spec().dims.size() > rank) {
    return invalid_argument("data ", dims_to_string(local_dims), " has fewer dimensions than ",
                            to_string(sharding));
  }
  if (global_dims && global_dims->size() != rank) {
    return invalid_argument("the tensor ", dims_to_string(*global_dims), " and the process's data ",
                            dims_to_string(local_dims), " differ in the number of dimensions");
  }
  const auto held = held_parts(sharding, rank, process_of);
  const bool has_devices =
      std::find(process_of.begin(), process_of.end(), process) != process_of.end();
  if (!has_devices && !global_dims) {
    return invalid_argument("process ", process, " has no device in the mesh of ",
                            to_string(sharding), ": give the tensor's dimensions");
  }
  const bool one_process =
      std::all_of(process_of.begin(), process_of.end(), [&](int64_t p) { return p == process; });
  if (one_process && global_dims && *global_dims != local_dims) {
    return invalid_argument("the tensor is ", dims_to_string(*global_dims),
                            " and the data of the only process ", dims_to_string(local_dims),
                            ": they must be the same");
  }

  ProcessLocalData data{.global_dims = global_dims.value_or(local_dims), .parts = {}};
  if (!global_dims) {
    for (size_t dim = 0; dim < rank; ++dim) {
      const auto groups = uniform_groups(held[dim], sharding.parts(static_cast<int>(dim)));
      if (!groups) {
        return invalid_argument(
            "in dimension ", dim, " of ", to_string(sharding, static_cast<int>(rank)),
            " processes hold different numbers of parts, or share some of them: what the tensor's "
            "dimensions are does not follow from one process's data; give them");
      }
      data.global_dims[dim] *= *groups;
    }
  }
  RETURN_IF_ERROR(sharding.check(Shape{DType::kF32, data.global_dims}));
  if (!has_devices) return data;

  // In each dimension: whole, or the parts next to each other.
  const Dims shard = sharding.shard_dims(data.global_dims);
  std::vector<bool> whole(rank);
  for (size_t dim = 0; dim < rank; ++dim) {
    const int64_t own = static_cast<int64_t>(held[dim].at(process).size()) * shard[dim];
    whole[dim] = local_dims[dim] == data.global_dims[dim];
    if (whole[dim] || local_dims[dim] == own) continue;
    return invalid_argument(
        "dimension ", dim, " of the process's data ", dims_to_string(local_dims), " must be ", own,
        ", which is what its devices hold of ", dims_to_string(data.global_dims), " laid out as ",
        to_string(sharding, static_cast<int>(rank)), ", or all ", data.global_dims[dim]);
  }
  for (size_t i = 0; i < process_of.size(); ++i) {
    if (process_of[i] != process) continue;
    const auto position = static_cast<int64_t>(i);
    Box box = sharding.shard_box(data.global_dims, position);
    for (size_t dim = 0; dim < rank; ++dim) {
      if (whole[dim] || shard[dim] == 0) continue;
      const PartNumbers& own = held[dim].at(process);
      const auto place = std::distance(own.begin(), own.find(box.start[dim] / shard[dim]));
      box.start[dim] = place * shard[dim];
    }
    data.parts.push_back({position, std::move(box)});
  }
  return data;
}

Result<Dims> process_local_dims(const NamedSharding& sharding, const Dims& global_dims,
                                std::span<const int64_t> process_of, int64_t process) {
  RETURN_IF_ERROR(sharding.check(Shape{DType::kF32, global_dims}));
  if (std::find(process_of.begin(), process_of.end(), process) == process_of.end()) {
    return invalid_argument("process ", process, " has no device in the mesh of ",
                            to_string(sharding), ": it holds nothing");
  }
  const auto held = held_parts(sharding, global_dims.size(), process_of);
  Dims dims = sharding.shard_dims(global_dims);
  for (size_t dim = 0; dim < dims.size(); ++dim)
    dims[dim] *= static_cast<int64_t>(held[dim].at(process).size());
  return dims;
}

}  // namespace tessera
