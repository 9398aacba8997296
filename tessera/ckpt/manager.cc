#include "tessera/ckpt/manager.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "absl/strings/str_join.h"
#include "tessera/base/json.h"

namespace tessera {
namespace {

constexpr std::string_view kTemporarySuffix = ".tmp";
constexpr std::string_view kDeletedSuffix = ".deleted";

/// "120" → 120. Nothing for names that std::to_string would not give.
std::optional<int64_t> parse_step(std::string_view name) {
  int64_t step = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  if (step < 0 || std::to_string(step) != name) return std::nullopt;
  return step;
}

bool is_leftover(std::string_view name) {
  for (const std::string_view suffix : {kTemporarySuffix, kDeletedSuffix}) {
    if (!name.ends_with(suffix)) continue;
    return parse_step(name.substr(0, name.size() - suffix.size())).has_value();
  }
  return false;
}

/// Why a checkpoint is not taken; nothing when its status is OK.
std::optional<std::string> reason_of(const Status& status) {
  if (status.ok()) return std::nullopt;
  return std::string(status.message());
}

/// The entries of the directory; none when it does not exist.
Result<std::vector<FileInfo>> entries_of(FileSystem& files, const std::string& directory) {
  Result<std::vector<FileInfo>> entries = files.list(directory);
  if (absl::IsNotFound(entries.status())) return std::vector<FileInfo>();
  return entries;
}

}  // namespace

Status RetentionPolicy::validate() const {
  if (keep_last < 0) {
    return invalid_argument("checkpoint.keep_last is ", keep_last,
                            "; it must be at least 1, or 0 to keep all");
  }
  if (keep_every_steps < 0) {
    return invalid_argument("checkpoint.keep_every_steps is ", keep_every_steps,
                            "; it must not be negative");
  }
  if (keep_best >= 0) return absl::OkStatus();
  return invalid_argument("checkpoint.keep_best is ", keep_best, "; it must not be negative");
}

CheckpointManager::CheckpointManager(FileSystem& files, std::string directory,
                                     RetentionPolicy retention, size_t threads)
    : files_(files),
      directory_(std::move(directory)),
      retention_(retention),
      pool_(std::make_unique<ThreadPool>("ckpt-read", threads, 64)) {}

Result<CheckpointManager::Folders> CheckpointManager::folders() const {
  ASSIGN_OR_RETURN(const std::vector<FileInfo> entries, entries_of(files_, directory_));
  Folders folders;
  std::vector<FileInfo> candidates;
  for (const FileInfo& entry : entries) {
    if (is_leftover(entry.name)) folders.leftovers.push_back(entry);
    if (entry.is_directory && parse_step(entry.name)) candidates.push_back(entry);
  }
  std::vector<Result<FileInfo>> manifests(candidates.size(), FileInfo{});
  if (!files_.renames_folders(directory_)) {
    parallel_for(*pool_, candidates.size(), [&](size_t i) {
      const std::string folder = join_path(directory_, candidates[i].name);
      manifests[i] = files_.stat(join_path(folder, kCheckpointManifestFile));
    });
  }
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (manifests[i].ok()) {
      folders.steps.push_back(*parse_step(candidates[i].name));
    } else if (absl::IsNotFound(manifests[i].status())) {
      folders.leftovers.push_back(candidates[i]);
    } else {
      return manifests[i].status();
    }
  }
  std::sort(folders.steps.begin(), folders.steps.end());
  return folders;
}

Result<std::vector<int64_t>> CheckpointManager::list() const {
  ASSIGN_OR_RETURN(Folders found, folders());
  return std::move(found.steps);
}

Result<std::unique_ptr<CheckpointReader>> CheckpointManager::open_checked(int64_t step,
                                                                          CheckDepth depth) const {
  const std::string folder = checkpoint_folder(directory_, step);
  ASSIGN_OR_RETURN(auto reader, CheckpointReader::open(files_, folder));
  if (reader->manifest().step != step) {
    return data_loss(folder, ": its manifest is that of step ", reader->manifest().step);
  }
  std::vector<Damage> damages = reader->check_files(/*only_first=*/true);
  if (damages.empty() && depth == CheckDepth::kMetadata) damages = reader->check_metadata();
  if (damages.empty() && depth == CheckDepth::kContents) damages = reader->verify(*pool_);
  for (const Damage& damage : damages) {  // what cannot be read now must not be taken for damaged
    if (damage.code != absl::StatusCode::kDataLoss)
      return Status(damage.code, describe({&damage, 1}));
  }
  if (!damages.empty()) return data_loss(describe(damages));
  return reader;
}

Status CheckpointManager::check(int64_t step, CheckDepth depth) const {
  return open_checked(step, depth).status();
}

Result<LatestCheckpoint> CheckpointManager::find_latest(
    std::span<const CheckpointManager* const> tiers, const WhyNot& why_not) {
  LatestCheckpoint latest;
  std::vector<std::pair<int64_t, const CheckpointManager*>> steps;
  for (const CheckpointManager* tier : tiers) {
    ASSIGN_OR_RETURN(const Folders found, tier->folders());
    for (const FileInfo& entry : found.leftovers) {
      latest.skipped.push_back(
          {join_path(tier->directory_, entry.name),
           entry.name.ends_with(kDeletedSuffix) ? "was being deleted" : "was never completed"});
    }
    for (const int64_t step : found.steps) steps.emplace_back(step, tier);
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [step, tier] : steps) {
    ASSIGN_OR_RETURN(const std::optional<std::string> reason, why_not(*tier, step));
    if (!reason) {
      latest.step = step;
      break;
    }
    latest.skipped.push_back({checkpoint_folder(tier->directory_, step), *reason});
  }
  return latest;
}

Result<LatestCheckpoint> CheckpointManager::latest(CheckDepth depth) const {
  const CheckpointManager* const self = this;
  return find_latest({&self, 1}, [&](const CheckpointManager& manager, int64_t step) {
    return reason_of(manager.check(step, depth));
  });
}

Result<std::optional<std::string>> CheckpointManager::why_not_read(
    int64_t step, const std::function<Status(const CheckpointReader& reader)>& read) const {
  const auto reader = open_checked(step, CheckDepth::kMetadata);
  if (!reader.ok()) return reason_of(reader.status());
  const Status status = read(**reader);
  if (!status.ok() && !absl::IsDataLoss(status)) return status;
  if (status.ok()) return std::nullopt;
  // All that is damaged, as latest() says it, and not only what was met first.
  const Status all = check(step, CheckDepth::kContents);
  return reason_of(all.ok() ? status : all);
}

Result<LatestCheckpoint> CheckpointManager::read_latest(
    const std::function<Status(const CheckpointReader& reader)>& read) const {
  const CheckpointManager* const self = this;
  return tessera::read_latest({&self, 1}, read);
}

Result<LatestCheckpoint> read_latest(
    std::span<const CheckpointManager* const> tiers,
    const std::function<Status(const CheckpointReader& reader)>& read) {
  return CheckpointManager::find_latest(tiers, [&](const CheckpointManager& tier, int64_t step) {
    return tier.why_not_read(step, read);
  });
}

std::optional<int64_t> CheckpointManager::good_before(int64_t step, CheckDepth depth) const {
  const Result<std::vector<int64_t>> steps = list();
  if (!steps.ok()) return std::nullopt;
  for (size_t i = steps->size(); i-- > 0;) {
    if ((*steps)[i] < step && check((*steps)[i], depth).ok()) return (*steps)[i];
  }
  return std::nullopt;
}

std::string CheckpointManager::hint(int64_t damaged_step) const {
  const std::optional<int64_t> good = good_before(damaged_step, CheckDepth::kContents);
  if (!good) return str_cat("No older checkpoint in ", directory_, " is good");
  return str_cat("The newest older checkpoint that is good is step ", *good, ", ",
                 checkpoint_folder(directory_, *good));
}

Result<std::unique_ptr<CheckpointReader>> CheckpointManager::open(int64_t step) const {
  auto reader = CheckpointReader::open(files_, checkpoint_folder(directory_, step));
  if (absl::IsNotFound(reader.status())) {
    ASSIGN_OR_RETURN(const std::vector<int64_t> steps, list());
    return not_found(directory_, ": has no checkpoint of step ", step, "; there are ",
                     steps.empty() ? "none" : absl::StrJoin(steps, ", "));
  }
  if (absl::IsDataLoss(reader.status())) {
    return data_loss(reader.status().message(), ". ", hint(step));
  }
  RETURN_IF_ERROR(reader.status());
  // The hint may outlive this manager, so it gets one of its own.
  (*reader)->set_damage_hint([&files = files_, directory = directory_, step] {
    return CheckpointManager(files, directory, {}, 1).hint(step);
  });
  return reader;
}

Result<std::vector<Damage>> CheckpointManager::verify(int64_t step) const {
  const std::string folder = checkpoint_folder(directory_, step);
  const auto reader = CheckpointReader::open(files_, folder);
  if (absl::IsDataLoss(reader.status())) {
    const std::string path = join_path(folder, kCheckpointManifestFile);
    std::string_view reason = from_absl(reader.status().message());
    if (reason.starts_with(path + ": ")) reason.remove_prefix(path.size() + 2);
    return std::vector<Damage>{{path, "", std::string(reason)}};
  }
  RETURN_IF_ERROR(reader.status());
  return (*reader)->verify(*pool_);
}

Result<std::unique_ptr<CheckpointWriter>> CheckpointManager::begin(
    int64_t step, std::vector<ArraySpec> arrays, CheckpointWriter::Options options) const {
  if (options.leads && files_.exists(checkpoint_folder(directory_, step))) {
    const Status status = check(step, CheckDepth::kContents);
    if (absl::IsDataLoss(status) || absl::IsNotFound(status)) RETURN_IF_ERROR(remove(step));
  }
  return CheckpointWriter::begin(files_, directory_, step, std::move(arrays), options);
}

Status CheckpointManager::remove(int64_t step) const {
  const std::string folder = checkpoint_folder(directory_, step);
  const std::string deleted = str_cat(folder, kDeletedSuffix);
  if (!files_.renames_folders(directory_)) {
    // Without its manifest it is no checkpoint any more.
    const Status status = files_.remove(join_path(folder, kCheckpointManifestFile));
    if (!absl::IsNotFound(status)) RETURN_IF_ERROR(status);
    return files_.remove_tree(folder);
  }
  RETURN_IF_ERROR(files_.remove_tree(deleted));  // of a run that died
  RETURN_IF_ERROR(files_.rename(folder, deleted));
  // Without this a loss of power could bring the old name back, with files missing.
  RETURN_IF_ERROR(files_.sync_dir(directory_));
  return files_.remove_tree(deleted);
}

Status CheckpointManager::lock() const {
  const std::lock_guard guard(mutex_);
  if (lock_ || !files_.renames_folders(directory_)) return absl::OkStatus();
  RETURN_IF_ERROR(files_.create_dirs(directory_));
  auto lock = FolderLock::take(directory_, "run.lock");
  if (lock.ok()) lock_.emplace(*std::move(lock));
  if (!absl::IsAlreadyExists(lock.status())) return lock.status();
  return failed_precondition(directory_, " is in use: ", lock.status().message(),
                             " saves checkpoints into it; wait for its end, or choose another "
                             "folder");
}

Result<std::vector<std::string>> CheckpointManager::clean() const {
  RETURN_IF_ERROR(lock());
  ASSIGN_OR_RETURN(const Folders found, folders());
  std::vector<std::string> removed;
  for (const FileInfo& entry : found.leftovers) {
    RETURN_IF_ERROR(files_.remove_tree(join_path(directory_, entry.name)));
    removed.push_back(entry.name);
  }
  RETURN_IF_ERROR(files_.discard_unfinished(directory_));
  return removed;
}

std::vector<int64_t> CheckpointManager::best_of(std::span<const int64_t> candidates) const {
  std::vector<std::pair<double, int64_t>> found;  // the metric, and minus the step
  for (const int64_t step : candidates) {
    const auto reader = open_checked(step, CheckDepth::kFiles);
    if (!reader.ok()) continue;
    const Json metrics = Json::parse((*reader)->manifest().metrics_json, nullptr, false);
    const auto value = metrics.is_object() ? metrics.find(retention_.best_metric) : metrics.end();
    if (value != metrics.end() && value->is_number())
      found.emplace_back(value->get<double>(), -step);
  }
  std::sort(found.begin(), found.end());
  found.resize(std::min(found.size(), static_cast<size_t>(retention_.keep_best)));
  std::vector<int64_t> best;
  for (const auto& [metric, negative_step] : found) best.push_back(-negative_step);
  return best;
}

Result<std::vector<int64_t>> CheckpointManager::surplus() const {
  std::vector<int64_t> surplus;
  if (retention_.keep_last == 0) return surplus;
  ASSIGN_OR_RETURN(const std::vector<int64_t> steps, list());
  const std::vector<int64_t> best =
      retention_.keep_best > 0 ? best_of(steps) : std::vector<int64_t>();
  int64_t good = 0;
  for (size_t i = steps.size(); i-- > 0;) {
    const int64_t step = steps[i];
    if (good < retention_.keep_last) {
      // The first good one is read in full: with it as the only reason others are let go, it has to
      // be.
      const CheckDepth depth = good == 0 ? CheckDepth::kContents : CheckDepth::kFiles;
      if (retention_.parts || check(step, depth).ok()) ++good;
      continue;
    }
    if (retention_.keep_every_steps > 0 && step % retention_.keep_every_steps == 0) continue;
    if (std::find(best.begin(), best.end(), step) != best.end()) continue;
    surplus.push_back(step);
  }
  return surplus;
}

Result<std::vector<int64_t>> CheckpointManager::prune() const {
  ASSIGN_OR_RETURN(const std::vector<int64_t> steps, surplus());
  for (const int64_t step : steps) RETURN_IF_ERROR(remove(step));
  return steps;
}

}  // namespace tessera
