#include "tessera/sharding/transfer_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace tessera {
namespace {

int64_t elements_of(const Dims& dims) { return Shape{DType::kU8, dims}.elements(); }

Dims minus(const Dims& a, const Dims& b) {
  Dims result = a;
  for (size_t i = 0; i < result.size(); ++i) result[i] -= b[i];
  return result;
}

Status check_list(std::span<const Holding> list, std::string_view which) {
  if (list.empty()) return invalid_argument("no devices ", which);
  std::set<int64_t> ids;
  for (const Holding& one : list) {
    if (!ids.insert(one.device_id).second)
      return invalid_argument("device ", one.device_id, " is twice among those ", which);
    if (one.box.dims != list[0].box.dims) {
      return invalid_argument("devices ", list[0].device_id, " and ", one.device_id, " ", which,
                              " hold parts of different sizes, ", to_string(list[0].box), " and ",
                              to_string(one.box));
    }
  }
  return absl::OkStatus();
}

// By box the places of the devices that hold it.
using Holders = std::map<Box, std::vector<int64_t>>;

class Planner {
 public:
  Planner(std::span<const Holding> from, std::span<const Holding> to,
          const std::function<int64_t(int64_t)>& process_of) {
    std::set<int64_t> ids;
    for (const Holding& one : from) ids.insert(one.device_id);
    for (const Holding& one : to) ids.insert(one.device_id);
    plan_.device_ids.assign(ids.begin(), ids.end());
    for (int64_t id : ids) plan_.process_of.push_back(process_of(id));
    sent_.resize(ids.size());
    from_ = holders(from);
    to_ = holders(to);
  }

  Result<TransferPlan> plan() {
    for (const auto& [box, devices] : to_) RETURN_IF_ERROR(fill(box, devices));
    for (auto& [what, pieces] : pieces_) add_rounds(what, pieces);
    return std::move(plan_);
  }

 private:
  using Kind = TransferRound::Kind;

  Holders holders(std::span<const Holding> list) const {
    Holders result;
    for (const Holding& one : list) {
      const auto place =
          std::lower_bound(plan_.device_ids.begin(), plan_.device_ids.end(), one.device_id) -
          plan_.device_ids.begin();
      result[one.box].push_back(place);
    }
    return result;
  }

  // All that the devices that shall hold `box` need.
  Status fill(const Box& box, const std::vector<int64_t>& devices) {
    std::map<int64_t, std::vector<int64_t>> by_process;
    for (int64_t device : devices) by_process[plan_.process_of[device]].push_back(device);
    int64_t found = 0;
    for (const auto& [source_box, sources] : from_) {
      const auto region = intersect(source_box, box);
      if (!region) continue;
      found += region->elements();
      for (const auto& [process, group] : by_process)
        bring({*region, minus(region->start, source_box.start), minus(region->start, box.start)},
              sources, group);
    }
    if (found == box.elements()) return absl::OkStatus();
    return invalid_argument("no device holds all of part ", to_string(box), ": of ", box.elements(),
                            " elements ", found, " are there");
  }

  struct Region {
    Box box;
    Dims source_start, destination_start;
  };

  // A region to all devices of a process that need it.
  void bring(const Region& region, const std::vector<int64_t>& sources,
             const std::vector<int64_t>& group) {
    const int64_t process = plan_.process_of[group[0]];
    std::vector<int64_t> near;
    for (int64_t source : sources) {
      if (plan_.process_of[source] == process) near.push_back(source);
    }
    if (near.empty()) return relay(region, sources, group);
    for (int64_t device : group) {
      const bool own = std::find(near.begin(), near.end(), device) != near.end();
      add(own ? Kind::kWithin : Kind::kFirst, own ? device : least_busy(near), device, region);
    }
  }

  // One of the group gets it from another process, the others from that one: each in turn, so that
  // their shares are equal.
  void relay(const Region& region, const std::vector<int64_t>& sources,
             const std::vector<int64_t>& group) {
    const int64_t first = group[turn_++ % group.size()];
    add(Kind::kFirst, least_busy(sources), first, region);
    Region passed_on = region;
    passed_on.source_start = region.destination_start;
    for (int64_t device : group) {
      if (device != first) add(Kind::kRelayed, first, device, passed_on);
    }
  }

  int64_t least_busy(const std::vector<int64_t>& sources) {
    return *std::min_element(sources.begin(), sources.end(), [&](int64_t a, int64_t b) {
      return std::tuple(sent_[a], sent_by_process_[plan_.process_of[a]], a) <
             std::tuple(sent_[b], sent_by_process_[plan_.process_of[b]], b);
    });
  }

  void add(Kind kind, int64_t source, int64_t destination, const Region& region) {
    pieces_[{kind, region.box.dims}].push_back(
        {source, destination, region.source_start, region.destination_start});
    if (kind == Kind::kWithin) return;
    sent_[source] += region.box.elements();
    sent_by_process_[plan_.process_of[source]] += region.box.elements();
  }

  void add_rounds(const std::pair<Kind, Dims>& what, const std::vector<TransferPiece>& pieces) {
    std::vector<std::pair<int64_t, int64_t>> edges;
    for (const TransferPiece& piece : pieces) edges.push_back({piece.source, piece.destination});
    const std::vector<int64_t> colors = color_edges(edges);
    const size_t first = plan_.rounds.size();
    plan_.rounds.resize(first + *std::max_element(colors.begin(), colors.end()) + 1,
                        {what.first, what.second, {}});
    for (size_t i = 0; i < pieces.size(); ++i)
      plan_.rounds[first + colors[i]].pieces.push_back(pieces[i]);
  }

  TransferPlan plan_;
  Holders from_, to_;
  std::vector<int64_t> sent_;                   // by place: elements to other devices so far
  std::map<int64_t, int64_t> sent_by_process_;  // the same
  size_t turn_ = 0;
  std::map<std::pair<Kind, Dims>, std::vector<TransferPiece>> pieces_;  // relayed ones come last
};

template <typename Visit>  // void(const TransferRound&, const TransferPiece&)
void visit_between_devices(const TransferPlan& plan, const Visit& visit) {
  for (const TransferRound& round : plan.rounds) {
    if (round.kind == TransferRound::Kind::kWithin) continue;
    for (const TransferPiece& piece : round.pieces) visit(round, piece);
  }
}

}  // namespace

std::vector<Holding> holdings(const NamedSharding& sharding, const Dims& dims) {
  std::vector<Holding> result;
  for (int64_t position = 0; position < sharding.mesh().size(); ++position) {
    result.push_back({sharding.mesh().device_ids()[position], sharding.shard_box(dims, position)});
  }
  return result;
}

std::vector<int64_t> TransferPlan::elements_sent() const {
  std::vector<int64_t> result(device_ids.size());
  visit_between_devices(*this, [&](const TransferRound& round, const TransferPiece& piece) {
    result[piece.source] += elements_of(round.dims);
  });
  return result;
}

int64_t TransferPlan::elements_to_other_processes(int64_t process) const {
  int64_t result = 0;
  visit_between_devices(*this, [&](const TransferRound& round, const TransferPiece& piece) {
    if (process_of[piece.source] == process && process_of[piece.destination] != process)
      result += elements_of(round.dims);
  });
  return result;
}

Result<TransferPlan> plan_transfer(std::span<const Holding> from, std::span<const Holding> to,
                                   const std::function<int64_t(int64_t)>& process_of) {
  RETURN_IF_ERROR(check_list(from, "to take from"));
  RETURN_IF_ERROR(check_list(to, "to bring to"));
  return Planner(from, to, process_of).plan();
}

}  // namespace tessera
