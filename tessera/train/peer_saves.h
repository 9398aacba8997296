#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "tessera/ckpt/manager.h"
#include "tessera/ckpt/saver.h"
#include "tessera/train/peers.h"

/// Checkpoints of a run in several processes.
namespace tessera {

/// The processes of a run, for the thread that saves.
class PeerSaves : public SaveGroup {
 public:
  /// Two at a time need two names.
  explicit PeerSaves(const Peers& peers, const std::string& name = "save")
      : peers_(peers.again(name)) {}
  int process() const override { return peers_->process(); }
  int processes() const override { return peers_->count(); }
  Status agree(const std::string& what, const Status& own) override {
    return peers_->agree(what, own);
  }
  Result<std::vector<std::string>> gather(const std::string& text) override {
    return peers_->gather(text);
  }
  Result<std::vector<std::string>> gather_everywhere(const std::string& text) override;

 private:
  std::unique_ptr<Peers> peers_;
};

/// read_latest() of all processes together: the one that leads chooses, and a checkpoint is taken
/// that every process could read. On the others only the step is filled in.
Result<LatestCheckpoint> read_latest(
    std::span<const CheckpointManager* const> tiers, Peers& peers,
    const std::function<Status(const CheckpointReader& reader)>& read);

}  // namespace tessera
