#include "tessera/data/glob.h"

#include <algorithm>

#include "tessera/base/log.h"

namespace tessera {
namespace {

constexpr std::string_view kSpecial = "*?";

// Whether `pattern` matches some tail of `path`; with `within_name`, only tails before its first
// slash's end.
bool matches_a_tail(std::string_view pattern, std::string_view path, bool within_name) {
  for (size_t i = 0;; ++i) {
    if (glob_matches(pattern, path.substr(i))) return true;
    if (i == path.size() || (within_name && path[i] == '/')) return false;
  }
}

bool matches_after_folders(std::string_view pattern, std::string_view path) {
  while (true) {
    if (glob_matches(pattern, path)) return true;
    const size_t slash = path.find('/');
    if (slash == std::string_view::npos) return false;
    path.remove_prefix(slash + 1);
  }
}

Status append_files(FileSystem& files, const std::string& folder, std::vector<std::string>* paths) {
  ASSIGN_OR_RETURN(const std::vector<FileInfo> entries, files.list(folder));
  for (const FileInfo& entry : entries) {
    if (entry.name.starts_with('.')) continue;
    const std::string path = join_path(folder, entry.name);
    if (entry.is_directory) {
      RETURN_IF_ERROR(append_files(files, path, paths));
      continue;
    }
    // list() does not follow links, which may lead back here.
    const Result<FileInfo> target = files.stat(path);
    if (target.ok() && target->is_directory) {
      log_warning(path, " is a link to a folder, which is not followed: name it as well to have ",
                  "the files in it");
      continue;
    }
    paths->push_back(path);
  }
  return {};
}

}  // namespace

bool glob_matches(std::string_view pattern, std::string_view path) {
  while (!pattern.empty()) {
    if (pattern.starts_with("**/")) return matches_after_folders(pattern.substr(3), path);
    if (pattern.starts_with("**")) return matches_a_tail(pattern.substr(2), path, false);
    if (pattern.starts_with('*')) return matches_a_tail(pattern.substr(1), path, true);
    if (path.empty()) return false;
    const bool same = pattern[0] == '?' ? path[0] != '/' : pattern[0] == path[0];
    if (!same) return false;
    pattern.remove_prefix(1);
    path.remove_prefix(1);
  }
  return path.empty();
}

bool is_glob(std::string_view text) {
  return text.find_first_of(kSpecial) != std::string_view::npos;
}

Result<std::vector<std::string>> list_files(FileSystem& files, const std::string& folder) {
  std::vector<std::string> paths;
  RETURN_IF_ERROR(append_files(files, folder, &paths));
  std::sort(paths.begin(), paths.end());
  return paths;
}

Result<std::vector<std::string>> expand_glob(FileSystem& files, const std::string& pattern) {
  const size_t slash = pattern.rfind('/', pattern.find_first_of(kSpecial));
  const bool here = slash == std::string::npos;
  const std::string folder = here ? "." : slash == 0 ? "/" : pattern.substr(0, slash);
  ASSIGN_OR_RETURN(std::vector<std::string> paths, list_files(files, folder));
  std::erase_if(paths, [&](std::string& path) {
    if (here) path.erase(0, 2);  // "./"
    return !glob_matches(pattern, path);
  });
  return paths;
}

}  // namespace tessera
