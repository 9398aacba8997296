#include "tessera/train/same_run.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_join.h"
#include "tessera/base/random_id.h"
#include "tessera/base/usage_error.h"
#include "tessera/train/run_checkpoints.h"

namespace tessera {
namespace {

constexpr size_t kMostNamed = 5;
constexpr const char* kMayDiffer[] = {"output_directory", "data.store", "data.corpus",
                                      "data.tokenizer.model", "logging",
                                      // each process's own
                                      "checkpoint.local.directory", "checkpoint.local.address"};

void compare(const std::string& path, const Json& own, const Json& leaders,
             std::vector<std::string>& differences) {
  if (own == leaders || std::ranges::count(kMayDiffer, path) > 0) return;
  if (!own.is_object() || !leaders.is_object()) {
    differences.push_back(
        str_cat(path, " is ", own.dump(), ", and ", leaders.dump(), " on process 0"));
    return;
  }
  for (const auto& [name, value] : own.items()) {
    const auto other = leaders.find(name);
    compare(path.empty() ? name : str_cat(path, ".", name), value,
            other == leaders.end() ? Json() : *other, differences);
  }
}

Json parsed(const std::string& text) {
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

}  // namespace

std::vector<std::string> setting_differences(const Json& own, const Json& leaders) {
  std::vector<std::string> differences;
  compare("", own, leaders, differences);
  return differences;
}

Status check_same_settings(const RunConfig& config, Peers& peers) {
  if (peers.alone()) return absl::OkStatus();
  Json own = parsed(config_json(config));
  own["version of tessera"] = TESSERA_VERSION;
  ASSIGN_OR_RETURN(const std::string text, peers.text_from_leader(own.dump()));
  std::vector<std::string> differences = setting_differences(own, parsed(text));
  Status same;
  if (!differences.empty()) {
    const size_t more = differences.size() - std::min(differences.size(), kMostNamed);
    differences.resize(differences.size() - more);
    same = invalid_argument("process ", peers.process(),
                            " was started for another run: ", absl::StrJoin(differences, "; "),
                            more > 0 ? str_cat("; and ", more, " more settings") : "",
                            ". Start all processes with the same recipe and overrides");
  }
  const Status agreed = peers.agree("comparing settings", same);
  return absl::IsInvalidArgument(agreed) ? usage_error(agreed) : agreed;
}

Status check_same_folder(const std::string& key, const std::string& folder, FileSystem& files,
                         Peers& peers) {
  if (peers.alone() || !files.renames_folders(folder)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string mark, peers.text_from_leader(".same-folder-" + random_name()));
  const std::string path = join_path(folder, mark);
  RETURN_IF_ERROR(peers.lead(str_cat("writing to ", key), [&]() -> Status {
    RETURN_IF_ERROR(annotate(files.create_dirs(folder), key));
    return annotate(files.write_file(path, {}), key);
  }));
  const Status same =
      files.exists(path)
          ? absl::OkStatus()
          : failed_precondition(key, " of process ", peers.process(), ", ", folder,
                                ", is not the folder that process 0 writes to: every process must "
                                "see the same one, on a disk that all share");
  const Status agreed = peers.agree(str_cat("looking into ", key), same);
  if (peers.leads()) files.remove(path).IgnoreError();
  return agreed;
}

Status check_same_store(const TokenStore& store, Peers& peers) {
  if (peers.alone()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string leaders, peers.text_from_leader(store.fingerprint()));
  const Status same =
      leaders == store.fingerprint()
          ? absl::OkStatus()
          : failed_precondition("data.store ", store.folder(), " of process ", peers.process(),
                                " holds other tokens than that of process 0: give all processes "
                                "the same store, or a copy of it");
  return peers.agree("comparing data.store", same);
}

}  // namespace tessera
