#include "tessera/train/collective_uses.h"

#include <map>
#include <set>

namespace tessera {
namespace {

using pjrt::HloComputation;
using pjrt::HloInstruction;

/// "all-gather" of "all-gather-start" and "all-gather"; empty of what is no collective, and of the
/// second half of one.
std::string collective_kind(std::string_view opcode) {
  constexpr std::string_view kStart = "-start";
  if (opcode.ends_with(kStart)) opcode.remove_suffix(kStart.size());
  for (const char* kind : {"all-reduce", "all-gather", "reduce-scatter", "all-to-all",
                           "collective-permute", "collective-broadcast", "ragged-all-to-all"}) {
    if (opcode == kind) return kind;
  }
  return "";
}

double operand_bytes(const HloComputation& computation, const HloInstruction& instruction) {
  double bytes = 0;
  for (int64_t id : instruction.operands) {
    for (const HloInstruction& other : computation.instructions) {
      if (other.id == id) bytes += other.shape.bytes();
    }
  }
  return bytes;
}

std::vector<std::vector<int64_t>> exchanging(const HloInstruction& instruction, int64_t devices) {
  std::vector<std::vector<int64_t>> groups = instruction.groups;
  for (const auto& [source, target] : instruction.source_target_pairs)
    groups.push_back({source, target});
  if (!groups.empty()) return groups;
  groups.emplace_back();  // none said: all of them
  for (int64_t i = 0; i < devices; ++i) groups.back().push_back(i);
  return groups;
}

void add_reachable(const pjrt::HloModule& module, int64_t id, std::set<int64_t>& reached) {
  if (!reached.insert(id).second) return;
  for (const HloInstruction& instruction : module.computations.at(id).instructions) {
    for (int64_t called : instruction.called) add_reachable(module, called, reached);
  }
}

// The computations that run only where a branch is taken.
std::set<int64_t> branches(const pjrt::HloModule& module) {
  std::set<int64_t> reached;
  for (const auto& [id, computation] : module.computations) {
    for (const HloInstruction& instruction : computation.instructions) {
      if (instruction.opcode != "conditional") continue;
      for (int64_t called : instruction.called) add_reachable(module, called, reached);
    }
  }
  return reached;
}

// What the devices of `process` send for one group, once. `own`, `all`: devices of the group;
// `others`: processes beside this one.
double group_bytes(const CollectiveUse& use, double own, double all, double others) {
  if (own == 0 || others == 0) return 0;
  if (use.kind == "all-reduce") return 2 * others / (others + 1) * use.bytes;
  if (use.kind == "all-gather") return use.bytes * own / all * others;
  if (use.kind == "reduce-scatter") return use.bytes * (all - own) / all;
  if (use.kind == "all-to-all" || use.kind == "ragged-all-to-all")
    return use.bytes * own * (all - own) / all;
  return use.bytes;  // a permute, a broadcast: from its source
}

}  // namespace

std::vector<CollectiveUse> collective_uses(const pjrt::HloModule& module, int64_t devices) {
  std::vector<CollectiveUse> uses;
  const std::set<int64_t> conditional = branches(module);
  module.walk(
      [&](const HloComputation& computation, const HloInstruction& instruction, double times) {
        CollectiveUse use{.kind = collective_kind(instruction.opcode), .groups = {}};
        if (use.kind.empty()) return;
        use.groups = exchanging(instruction, devices);
        use.times = times;
        use.conditional = conditional.contains(computation.id);
        use.bytes = use.kind == "all-gather" ? instruction.shape.bytes()
                                             : operand_bytes(computation, instruction);
        uses.push_back(std::move(use));
      });
  return uses;
}

double least_bytes_sent(const std::vector<CollectiveUse>& uses,
                        const std::vector<int64_t>& processes, int64_t process) {
  double bytes = 0;
  for (const CollectiveUse& use : uses) {
    if (use.conditional) continue;
    const bool from_source = use.kind == "collective-permute" || use.kind == "collective-broadcast";
    for (const std::vector<int64_t>& group : use.groups) {
      if (from_source && processes[static_cast<size_t>(group[0])] != process) continue;
      std::map<int64_t, double> devices_of;
      for (int64_t position : group) ++devices_of[processes[static_cast<size_t>(position)]];
      const double own = devices_of.contains(process) ? devices_of.at(process) : 0;
      bytes += use.times * group_bytes(use, own, static_cast<double>(group.size()),
                                       static_cast<double>(devices_of.size()) - 1);
    }
  }
  return bytes;
}

}  // namespace tessera
