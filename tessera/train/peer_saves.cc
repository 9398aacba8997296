#include "tessera/train/peer_saves.h"

namespace tessera {
namespace {

constexpr int64_t kNoMore = -1;  // instead of a step to read
constexpr char kReading[] = "reading a checkpoint";

Result<LatestCheckpoint> follow(const CheckpointManager& manager, Peers& peers,
                                const std::function<Status(const CheckpointReader& reader)>& read) {
  LatestCheckpoint latest;
  Status failed;
  for (;;) {
    ASSIGN_OR_RETURN(const int64_t step, peers.from_leader(0));
    if (step == kNoMore) break;
    const auto reader = manager.open(step);
    const Status agreed = peers.agree(kReading, reader.ok() ? read(**reader) : reader.status());
    if (agreed.ok()) latest.step = step;
    if (!absl::IsDataLoss(agreed)) failed = agreed;
  }
  RETURN_IF_ERROR(failed);
  return latest;
}

}  // namespace

Result<LatestCheckpoint> read_latest(
    const CheckpointManager& manager, Peers& peers,
    const std::function<Status(const CheckpointReader& reader)>& read) {
  if (!peers.leads()) return follow(manager, peers, read);
  auto latest = manager.read_latest([&](const CheckpointReader& reader) -> Status {
    RETURN_IF_ERROR(peers.from_leader(reader.manifest().step).status());
    return peers.agree(kReading, read(reader));
  });
  RETURN_IF_ERROR(peers.from_leader(kNoMore).status());
  return latest;
}

}  // namespace tessera
