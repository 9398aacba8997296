#include "tessera/train/local_tier.h"

#include <unistd.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "tessera/base/json.h"
#include "tessera/base/log.h"
#include "tessera/base/random_id.h"
#include "tessera/ckpt/spread_index.h"

namespace tessera {
namespace {

// In a process's folder: tells it from one of the same name that another process left.
constexpr char kOwnerFile[] = "owner";
constexpr char kRunNameFile[] = "run_name";

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

std::string folder_of(int process) { return str_cat("process_", process); }

/// What a process tells the others of itself.
struct Introduction {
  std::string address, host, owner;
  PlaceIndex index;
};

std::string to_text(const Introduction& own) {
  return Json{{"address", own.address},
              {"host", own.host},
              {"owner", own.owner},
              {"index", to_text(own.index)}}
      .dump();
}

Result<Introduction> introduction_from_text(const std::string& text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  Introduction other;
  for (const auto& [key, value] :
       {std::pair{"address", &other.address}, {"host", &other.host}, {"owner", &other.owner}}) {
    if (!json.is_object() || !json.contains(key) || !json[key].is_string())
      return data_loss("checkpoint.local: another process sent no introduction of itself");
    *value = json[key];
  }
  ASSIGN_OR_RETURN(other.index, place_index_from_text(json.value("index", "")));
  return other;
}

Status ignore_gone(const Status& status) {
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

}  // namespace

int copy_distance(const std::vector<std::string>& hosts) {
  const size_t count = hosts.size();
  int best = 0;
  size_t fewest = count + 1;
  for (size_t distance = 1; distance < count; ++distance) {
    size_t stay = 0;
    for (size_t i = 0; i < count; ++i) stay += hosts[i] == hosts[(i + distance) % count] ? 1 : 0;
    if (stay >= fewest) continue;
    fewest = stay;
    best = static_cast<int>(distance);
  }
  return best;
}

Result<std::string> run_name(FileSystem& files, const std::string& directory) {
  RETURN_IF_ERROR(files.create_dirs(directory));
  const std::string path = join_path(directory, kRunNameFile);
  const Status made = files.create_once(path, random_name());
  if (!absl::IsAlreadyExists(made)) RETURN_IF_ERROR(made);
  ASSIGN_OR_RETURN(std::string name, files.read_file(path));
  const bool good =
      name.size() == 16 && name.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (good) return name;
  return data_loss(path, ": is not as it was written; remove it, and the run begins a new ",
                   "checkpoint.local");
}

LocalTier::LocalTier(const LocalCheckpointConfig& config, const std::string& run, FileSystem& files,
                     Peers& peers)
    : files_(files),
      place_(join_path(config.directory, run)),
      own_(join_path(place_, folder_of(peers.process()))),
      group_(peers, "save-local") {}

Result<std::unique_ptr<LocalTier>> LocalTier::open(const LocalCheckpointConfig& config,
                                                   const std::string& run, FileSystem& files,
                                                   const Clock& clock, Peers& peers,
                                                   const PeerNetwork& network) {
  std::unique_ptr<LocalTier> tier(new LocalTier(config, run, files, peers));
  RETURN_IF_ERROR(
      peers.agree("opening checkpoint.local.directory", tier->prepare(config, peers, network)));
  RETURN_IF_ERROR(tier->meet(peers, network));
  CheckpointSaver::Options options{
      .group = peers.alone() ? nullptr : &tier->group_, .spread = true, .refuse_not_finite = true};
  if (config.second_copy && !peers.alone()) {
    const auto neighbour = static_cast<size_t>((peers.process() + tier->distance_) % peers.count());
    options.second_copy = {tier->others_[neighbour].get(), folder_of(static_cast<int>(neighbour))};
  }
  tier->saver_ = std::make_unique<CheckpointSaver>(*tier->manager_, clock, options);
  return tier;
}

// Alone: what can fail here must not keep the others waiting.
Status LocalTier::prepare(const LocalCheckpointConfig& config, const Peers& peers,
                          const PeerNetwork& network) {
  constexpr std::string_view kKey = "checkpoint.local.directory";
  RETURN_IF_ERROR(annotate(files_.create_dirs(own_), kKey));
  manager_ = std::make_unique<CheckpointManager>(
      files_, own_, RetentionPolicy{.keep_last = config.keep, .parts = true});
  // First: of a run whose output directory was copied, both copies have the same name.
  RETURN_IF_ERROR(annotate(manager_->clean().status(), kKey));
  owner_ = random_name();
  RETURN_IF_ERROR(annotate(files_.write_file_atomic(join_path(own_, kOwnerFile), owner_), kKey));
  ASSIGN_OR_RETURN(index_, index_place(files_, place_));
  if (peers.alone()) return absl::OkStatus();
  std::string host = config.address;
  if (host.empty()) {
    ASSIGN_OR_RETURN(host, coord::own_address_towards(network.coordinator));
  }
  ASSIGN_OR_RETURN(
      server_,
      coord::PeerFileServer::start(
          files_, {.folder = place_, .bind = coord::to_string({host, 0}), .mtls = network.mtls}));
  address_ = coord::to_string({host, server_->port()});
  if (!network.mtls.enabled() && !coord::is_loopback(host)) {
    log_warning("checkpoint.local: whoever reaches ", address_,
                " may read and change the checkpoints in ", place_,
                ": give certificates (docs/security.md), or let only the run's machines reach it");
  }
  return absl::OkStatus();
}

Status LocalTier::meet(Peers& peers, const PeerNetwork& network) {
  const Introduction own = {address_, host_name(), owner_, std::move(index_)};
  ASSIGN_OR_RETURN(const auto texts, peers.gather_everywhere(to_text(own)));
  std::vector<std::string> hosts;
  std::vector<SpreadFiles::Place> places = {{&files_, place_, own.index}};
  for (const auto& [process, text] : texts) {
    ASSIGN_OR_RETURN(Introduction other, introduction_from_text(text));
    owners_.insert(other.owner);
    hosts.push_back(other.host);
    others_.push_back(nullptr);
    if (process == peers.process()) continue;
    others_.back() = coord::open_peer_files(other.address, network.mtls);
    places.push_back({others_.back().get(), "", std::move(other.index)});
  }
  distance_ = copy_distance(hosts);
  spread_ = std::make_unique<SpreadFiles>(place_, std::move(places));
  held_ = std::make_unique<CheckpointManager>(*spread_, place_);
  return absl::OkStatus();
}

Status LocalTier::resumed(int64_t step) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> steps, manager_->list());
  for (const int64_t newer : steps) {
    if (newer > step) RETURN_IF_ERROR(manager_->remove(newer));
  }
  return absl::OkStatus();
}

Status LocalTier::remove_stale() {
  if (!std::exchange(may_be_stale_, false)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<FileInfo> entries, files_.list(place_));
  for (const FileInfo& entry : entries) {
    const std::string folder = join_path(place_, entry.name);
    const Result<std::string> owner = files_.read_file(join_path(folder, kOwnerFile));
    if (owner.ok() && owners_.contains(*owner)) continue;
    // Others on this machine do the same.
    RETURN_IF_ERROR(ignore_gone(files_.remove_tree(folder)));
  }
  return absl::OkStatus();
}

Status LocalTier::discard() {
  RETURN_IF_ERROR(files_.remove_tree(own_));
  files_.remove(place_).IgnoreError();  // the last one of this machine does
  return absl::OkStatus();
}

}  // namespace tessera
