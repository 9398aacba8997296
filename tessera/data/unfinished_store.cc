#include "tessera/data/unfinished_store.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <vector>

namespace tessera {
namespace {

constexpr std::string_view kPartial = ".partial-";

bool is_dead(pid_t process) {
  return process == getpid() || (kill(process, 0) != 0 && errno == ESRCH);
}

// Folders of processes that are dead.
Result<std::vector<std::string>> dead_folders(FileSystem& files, const std::string& folder) {
  const std::string parent = parent_path(folder);
  std::vector<std::string> dead;
  if (!files.exists(parent)) return dead;
  ASSIGN_OR_RETURN(const std::vector<FileInfo> entries, files.list(parent));
  const std::string prefix = str_cat(base_name(folder), kPartial);
  for (const FileInfo& entry : entries) {
    if (!entry.name.starts_with(prefix)) continue;
    if (is_dead(std::atoi(entry.name.c_str() + prefix.size()))) {
      dead.push_back(join_path(parent, entry.name));
    }
  }
  return dead;
}

// Nothing for a file that is not there or was cut short: then the work begins anew.
std::optional<StoreProgress> read_progress(FileSystem& files, const std::string& path) {
  const Result<std::string> text = files.read_file(path);
  if (!text.ok()) return std::nullopt;
  try {
    const Json json = Json::parse(*text);
    StoreProgress progress = {.key = json.at("key").get<std::string>(),
                              .note = json.at("note").get<std::string>(),
                              .tokens = json.at("tokens").get<int64_t>(),
                              .documents = json.at("documents").get<int64_t>()};
    for (const auto& [name, file] : json.at("files").items()) {
      progress.files[name] = {file.at("bytes").get<int64_t>(), file.at("crc32c").get<uint32_t>()};
    }
    return progress;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

std::string StoreProgress::to_text() const {
  Json json = {{"key", key}, {"note", note}, {"tokens", tokens}, {"documents", documents}};
  json["files"] = Json::object();
  for (const auto& [name, file] : files) {
    json["files"][name] = {{"bytes", file.size_bytes}, {"crc32c", file.crc32c}};
  }
  return json.dump();
}

std::string partial_folder(const std::string& folder, int pid) {
  return str_cat(folder, kPartial, pid);
}

Result<std::optional<UnfinishedStore>> find_unfinished(FileSystem& files, const std::string& folder,
                                                       std::string_view key) {
  ASSIGN_OR_RETURN(const std::vector<std::string> dead, dead_folders(files, folder));
  std::optional<UnfinishedStore> best;
  for (const std::string& found : dead) {
    std::optional<StoreProgress> progress = read_progress(files, join_path(found, kProgressFile));
    if (!progress || progress->key != key) continue;
    if (best && best->progress.tokens >= progress->tokens) continue;
    best = UnfinishedStore{found, *std::move(progress)};
  }
  return best;
}

Status remove_unfinished(FileSystem& files, const std::string& folder, const std::string& keep) {
  ASSIGN_OR_RETURN(const std::vector<std::string> dead, dead_folders(files, folder));
  for (const std::string& found : dead) {
    if (found != keep) RETURN_IF_ERROR(files.remove_tree(found));
  }
  return {};
}

}  // namespace tessera
