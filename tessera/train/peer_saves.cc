#include "tessera/train/peer_saves.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr int64_t kNoMore = -1;  // instead of a step to read
constexpr char kReading[] = "reading a checkpoint";

Result<LatestCheckpoint> follow(std::span<const CheckpointManager* const> tiers, Peers& peers,
                                const std::function<Status(const CheckpointReader& reader)>& read) {
  LatestCheckpoint latest;
  Status failed;
  for (;;) {
    ASSIGN_OR_RETURN(const int64_t step, peers.from_leader(0));
    if (step == kNoMore) break;
    ASSIGN_OR_RETURN(const int64_t tier, peers.from_leader(0));
    const auto reader = tiers[static_cast<size_t>(tier)]->open(step);
    const Status agreed = peers.agree(kReading, reader.ok() ? read(**reader) : reader.status());
    if (agreed.ok()) latest.step = step;
    if (!absl::IsDataLoss(agreed)) failed = agreed;
  }
  RETURN_IF_ERROR(failed);
  return latest;
}

/// Which tier a checkpoint is in.
int64_t tier_of(std::span<const CheckpointManager* const> tiers, const CheckpointReader& reader) {
  const auto found = std::find_if(tiers.begin(), tiers.end(), [&](const CheckpointManager* tier) {
    return checkpoint_folder(tier->directory(), reader.manifest().step) == reader.folder();
  });
  return found - tiers.begin();
}

}  // namespace

Result<LatestCheckpoint> read_latest(
    std::span<const CheckpointManager* const> tiers, Peers& peers,
    const std::function<Status(const CheckpointReader& reader)>& read) {
  if (!peers.leads()) return follow(tiers, peers, read);
  auto latest = read_latest(tiers, [&](const CheckpointReader& reader) -> Status {
    RETURN_IF_ERROR(peers.from_leader(reader.manifest().step).status());
    RETURN_IF_ERROR(peers.from_leader(tier_of(tiers, reader)).status());
    return peers.agree(kReading, read(reader));
  });
  RETURN_IF_ERROR(peers.from_leader(kNoMore).status());
  return latest;
}

Result<std::vector<std::string>> PeerSaves::gather_everywhere(const std::string& text) {
  ASSIGN_OR_RETURN(auto all, peers_->gather_everywhere(text));
  std::vector<std::string> texts;
  for (auto& [process, its_text] : all) texts.push_back(std::move(its_text));
  return texts;
}

}  // namespace tessera
