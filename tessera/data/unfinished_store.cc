#include "tessera/data/unfinished_store.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "tessera/base/folder_lock.h"

namespace tessera {
namespace {

constexpr std::string_view kPartial = ".partial-";
constexpr std::string_view kReplaced = ".old-";

// Of a process that has ended, and whose parent has not asked how, there is still the number.
bool has_ended(pid_t process) {
  std::ifstream file(str_cat("/proc/", process, "/stat"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const size_t end = text.rfind(')');  // of the program's name, which may hold anything
  return end != std::string::npos && text.substr(end).starts_with(") Z");
}

bool is_dead(pid_t process) {
  return process == getpid() || (kill(process, 0) != 0 && errno == ESRCH) || has_ended(process);
}

// Whether nobody writes it any more. The lock knows best: numbers of processes are given anew, and
// on another machine, or in another container, they are others.
bool is_left(const std::string& folder, pid_t process) {
  const std::optional<bool> held = FolderLock::is_held(folder, kLockFile);
  return held.has_value() ? !*held : is_dead(process);
}

struct Beside {
  std::string path;
  pid_t process;
};

// What stands beside the store: NAME, the ending, a process.
Result<std::vector<Beside>> folders_beside(FileSystem& files, const std::string& folder,
                                           std::string_view ending) {
  const std::string parent = parent_path(folder);
  std::vector<Beside> found;
  if (!files.exists(parent)) return found;
  ASSIGN_OR_RETURN(const std::vector<FileInfo> entries, files.list(parent));
  const std::string prefix = str_cat(base_name(folder), ending);
  for (const FileInfo& entry : entries) {
    if (!entry.name.starts_with(prefix)) continue;
    found.push_back({join_path(parent, entry.name), std::atoi(entry.name.c_str() + prefix.size())});
  }
  return found;
}

// Folders of processes that are dead.
Result<std::vector<std::string>> dead_folders(FileSystem& files, const std::string& folder) {
  ASSIGN_OR_RETURN(const std::vector<Beside> beside, folders_beside(files, folder, kPartial));
  std::vector<std::string> dead;
  for (const Beside& found : beside) {
    if (is_left(found.path, found.process)) dead.push_back(found.path);
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
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
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
    if (found == keep) continue;
    const auto lock = FolderLock::take(found, kLockFile);  // another one may just go on with it
    if (!absl::IsAlreadyExists(lock.status())) RETURN_IF_ERROR(files.remove_tree(found));
  }
  return {};
}

std::string replaced_folder(const std::string& folder, int pid) {
  return str_cat(folder, kReplaced, pid);
}

Status restore_replaced(FileSystem& files, const std::string& folder) {
  ASSIGN_OR_RETURN(const std::vector<Beside> beside, folders_beside(files, folder, kReplaced));
  for (const Beside& found : beside) {
    if (!is_dead(found.process)) continue;
    RETURN_IF_ERROR(files.exists(folder) ? files.remove_tree(found.path)
                                         : files.rename(found.path, folder));
  }
  return {};
}

}  // namespace tessera
