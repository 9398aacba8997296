#include "tessera/sharding/loading_plan.h"

#include <algorithm>
#include <numeric>

namespace tessera {
namespace {

Status check_processes(const Mesh& mesh, std::span<const int64_t> process_of) {
  if (static_cast<int64_t>(process_of.size()) == mesh.size()) return absl::OkStatus();
  return invalid_argument("processes are given for ", process_of.size(), " devices, the mesh has ",
                          mesh.size());
}

std::vector<int64_t> positions_of(std::span<const int64_t> process_of, int64_t process) {
  std::vector<int64_t> positions;
  for (size_t i = 0; i < process_of.size(); ++i) {
    if (process_of[i] == process) positions.push_back(static_cast<int64_t>(i));
  }
  return positions;
}

ProcessLoad load_of(const NamedSharding& sharding, const Dims& dims, int64_t process,
                    std::span<const int64_t> positions) {
  std::map<Box, std::vector<int64_t>> by_part;
  for (int64_t position : positions)
    by_part[sharding.shard_box(dims, position)].push_back(position);
  ProcessLoad load{.process = process, .parts = {}, .positions = {}};
  for (auto& [part, holders] : by_part) {
    load.parts.push_back(part);
    load.positions.push_back(std::move(holders));
  }
  return load;
}

bool share_elements(const std::vector<Box>& a, const std::vector<Box>& b) {
  return std::any_of(a.begin(), a.end(), [&](const Box& part) {
    return std::any_of(b.begin(), b.end(),
                       [&](const Box& other) { return intersect(part, other).has_value(); });
  });
}

// This process's share of the first dimension, of as many equal ones as there are devices.
Result<Box> even_share(const Dims& dims, std::span<const int64_t> process_of, int64_t process) {
  const auto devices = static_cast<int64_t>(process_of.size());
  if (dims.empty() || dims[0] % devices != 0) {
    return invalid_argument("the first dimension of [", dims.empty() ? "" : str_cat(dims[0]),
                            dims.size() > 1 ? ",..." : "", "] does not divide among ", devices,
                            " devices, so it cannot be read in equal shares");
  }
  const auto count = [&](auto&& condition) {
    return std::count_if(process_of.begin(), process_of.end(), condition);
  };
  const int64_t before = count([&](int64_t other) { return other < process; });
  Box box{Dims(dims.size(), 0), dims};
  box.start[0] = dims[0] / devices * before;
  box.dims[0] = dims[0] / devices * count([&](int64_t other) { return other == process; });
  return box;
}

}  // namespace

const ProcessLoad* LoadingPlan::find(int64_t process) const {
  const auto found = std::find_if(processes.begin(), processes.end(),
                                  [&](const ProcessLoad& load) { return load.process == process; });
  return found == processes.end() ? nullptr : &*found;
}

std::vector<std::vector<int64_t>> LoadingPlan::groups() const {
  std::vector<std::vector<int64_t>> result;
  for (const ProcessLoad& load : processes) {
    if (load.group >= static_cast<int64_t>(result.size())) result.resize(load.group + 1);
    result[load.group].push_back(load.process);
  }
  return result;
}

Result<LoadingPlan> plan_loading(const NamedSharding& sharding, const Dims& dims,
                                 std::span<const int64_t> process_of) {
  RETURN_IF_ERROR(sharding.check(Shape{DType::kF32, dims}));
  RETURN_IF_ERROR(check_processes(sharding.mesh(), process_of));
  std::map<int64_t, std::vector<int64_t>> positions;
  for (int64_t process : process_of) positions.try_emplace(process);
  for (auto& [process, list] : positions) list = positions_of(process_of, process);

  LoadingPlan plan;
  std::map<std::vector<Box>, int64_t> groups;  // numbered in the order of their first process
  for (const auto& [process, list] : positions) {
    ProcessLoad load = load_of(sharding, dims, process, list);
    load.group = groups.try_emplace(load.parts, static_cast<int64_t>(groups.size())).first->second;
    plan.processes.push_back(std::move(load));
  }
  for (auto a = groups.begin(); a != groups.end(); ++a) {
    for (auto b = std::next(a); b != groups.end(); ++b)
      plan.overlaps |= share_elements(a->first, b->first);
  }
  return plan;
}

std::string to_string(LoadingStrategy strategy) {
  switch (strategy) {
    case LoadingStrategy::kWhole:
      return "whole";
    case LoadingStrategy::kPerDevice:
      return "per_device";
    case LoadingStrategy::kPerProcess:
      return "per_process";
    case LoadingStrategy::kEven:
      return "even";
  }
  return "unknown";
}

Result<std::vector<Box>> boxes_to_read(LoadingStrategy strategy, const NamedSharding& sharding,
                                       const Dims& dims, std::span<const int64_t> process_of,
                                       int64_t process) {
  ASSIGN_OR_RETURN(const LoadingPlan plan, plan_loading(sharding, dims, process_of));
  const ProcessLoad* load = plan.find(process);
  if (load == nullptr)
    return invalid_argument("process ", process, " has no device in the mesh: it reads nothing");
  switch (strategy) {
    case LoadingStrategy::kWhole:
      return std::vector<Box>{Box{Dims(dims.size(), 0), dims}};
    case LoadingStrategy::kPerDevice: {
      std::vector<Box> boxes;
      for (int64_t position : positions_of(process_of, process))
        boxes.push_back(sharding.shard_box(dims, position));
      return boxes;
    }
    case LoadingStrategy::kPerProcess:
      return load->parts;
    case LoadingStrategy::kEven: {
      ASSIGN_OR_RETURN(Box share, even_share(dims, process_of, process));
      return std::vector<Box>{std::move(share)};
    }
  }
  return invalid_argument("unknown loading strategy");
}

Result<NamedSharding> even_sharding(const Mesh& mesh, std::span<const int64_t> process_of) {
  RETURN_IF_ERROR(check_processes(mesh, process_of));
  std::vector<int64_t> order(process_of.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return process_of[a] < process_of[b]; });
  std::vector<int64_t> ids;
  for (int64_t position : order) ids.push_back(mesh.device_ids()[position]);
  ASSIGN_OR_RETURN(Mesh flat, Mesh::create({{"devices", mesh.size()}}, std::move(ids)));
  return NamedSharding::create(std::move(flat), {{{"devices"}}});
}

}  // namespace tessera
