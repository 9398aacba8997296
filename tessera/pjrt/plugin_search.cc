#include "tessera/pjrt/plugin_search.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace tessera::pjrt {
namespace {

namespace fs = std::filesystem;

/// What a short name stands for.
struct KnownPlugin {
  std::string_view name;
  std::string_view file;
  /// Below a Python folder: a folder whose subfolders are searched, or (not nested) the folder
  /// itself. Empty: not in Python.
  std::string_view python_folder;
  bool nested;
  std::string_view remedy;
};

constexpr KnownPlugin kKnown[] = {
    {"cpu", "pjrt_cpu.so", "", false, "build it with -DTESSERA_PLUGIN_CPU=ON"},
    {"cuda", "xla_cuda_plugin.so", "jax_plugins", true, "pip install jax-cuda12-plugin"},
    {"rocm", "xla_rocm_plugin.so", "jax_plugins", true, "pip install jax-rocm7-plugin"},
    {"tpu", "libtpu.so", "libtpu", false, "pip install libtpu"},
};

std::optional<fs::path> environment_path(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return fs::path(value);
}

/// Existing subfolders of `folder` in alphabetical order; none when it cannot be read.
std::vector<fs::path> subfolders(const fs::path& folder) {
  std::vector<fs::path> result;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_directory(ignored)) result.push_back(entry->path());
  }
  std::sort(result.begin(), result.end());
  return result;
}

/// prefix/lib/python3*/{site,dist}-packages.
void append_python_folders(const fs::path& prefix, std::vector<fs::path>& folders) {
  for (const fs::path& version : subfolders(prefix / "lib")) {
    if (!version.filename().string().starts_with("python3")) continue;
    for (const char* packages : {"site-packages", "dist-packages"}) {
      std::error_code ignored;
      if (fs::is_directory(version / packages, ignored)) folders.push_back(version / packages);
    }
  }
}

std::vector<fs::path> candidates(const KnownPlugin& plugin, const PluginSearch& search) {
  std::vector<fs::path> files;
  for (const fs::path& folder : search.plugin_path) files.push_back(folder / plugin.file);
  if (plugin.python_folder.empty()) {
    files.push_back(search.program_folder / plugin.file);
    files.push_back(search.program_folder / ".." / "lib" / plugin.file);
    files.push_back(search.program_folder / ".." / "lib" / "tessera" / plugin.file);
  }
  for (const fs::path& python : search.python_folders) {
    if (plugin.python_folder.empty()) continue;
    const fs::path folder = python / plugin.python_folder;
    if (!plugin.nested) {
      files.push_back(folder / plugin.file);
      continue;
    }
    for (const fs::path& inner : subfolders(folder)) files.push_back(inner / plugin.file);
    // Named even when it is not there, so that the error shows it.
    if (subfolders(folder).empty()) files.push_back(folder / "*" / plugin.file);
  }
  return files;
}

}  // namespace

PluginSearch PluginSearch::from_environment() {
  PluginSearch search;
  std::error_code ignored;
  search.program_folder = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  if (auto path = environment_path("TESSERA_PLUGIN_PATH")) {
    for (absl::string_view folder : absl::StrSplit(path->native(), ':', absl::SkipEmpty())) {
      search.plugin_path.emplace_back(std::string(folder));
    }
  }
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (auto prefix = environment_path(name)) append_python_folders(*prefix, search.python_folders);
  }
  if (auto home = environment_path("HOME")) {
    append_python_folders(*home / ".local", search.python_folders);
  }
  append_python_folders("/usr/local", search.python_folders);
  append_python_folders("/usr", search.python_folders);
  return search;
}

Result<fs::path> find_plugin(std::string_view name_or_path, const PluginSearch& search) {
  std::error_code ignored;
  if (name_or_path.find('/') != std::string_view::npos || name_or_path.ends_with(".so")) {
    const fs::path path(name_or_path);
    if (!fs::is_regular_file(path, ignored)) {
      return not_found("plugin '", name_or_path, "': there is no such file");
    }
    // dlopen looks elsewhere for a name without a slash.
    return fs::absolute(path);
  }
  std::vector<std::string> names;
  for (const KnownPlugin& plugin : kKnown) {
    names.emplace_back(plugin.name);
    if (plugin.name != name_or_path) continue;
    std::string places;
    for (const fs::path& file : candidates(plugin, search)) {
      if (fs::is_regular_file(file, ignored)) return fs::weakly_canonical(file);
      str_append(&places, "\n  ", file.string());
    }
    return not_found("plugin '", name_or_path, "': no ", plugin.file,
                     " in any of these places:", places, "\nMend: ", plugin.remedy,
                     ", or give its path, or add its folder to ", "TESSERA_PLUGIN_PATH");
  }
  return invalid_argument("unknown plugin '", name_or_path,
                          "': give a path to a .so file, or one of ", absl::StrJoin(names, ", "));
}

std::string load_remedy(std::string_view error) {
  // Kept out of packages and builds for their size.
  if (error.find("libtensorflow") == std::string_view::npos) return "";
  return "XLA's libraries, which it is built on, are not there: tessera-setup-sdk fetches them, in "
         "a checkout scripts/setup";
}

}  // namespace tessera::pjrt
