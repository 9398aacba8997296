#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/status.h"

namespace tessera::pjrt {

/// Where plugins are looked for. A value, so that tests can make a world of their own.
struct PluginSearch {
  /// The folder of the running program.
  std::filesystem::path program_folder;
  /// Folders from $TESSERA_PLUGIN_PATH, in its order.
  std::vector<std::filesystem::path> plugin_path;
  /// Python's site-packages and dist-packages folders.
  std::vector<std::filesystem::path> python_folders;

  /// What this process and its environment give: $TESSERA_PLUGIN_PATH, $VIRTUAL_ENV, $CONDA_PREFIX,
  /// $HOME, the system.
  static PluginSearch from_environment();
};

/// The file of a plugin. `name_or_path` is
///   a path (anything with a '/' or ending in .so), which must exist;
///   "cpu": pjrt_cpu.so on the plugin path, beside the program, in ../lib or ../lib/tessera;
///   "cuda", "rocm", "tpu": xla_cuda_plugin.so, xla_rocm_plugin.so, libtpu.so on the plugin path or
///   where their PyPI packages put them.
/// NOT_FOUND lists the places looked in; INVALID_ARGUMENT an unknown name.
Result<std::filesystem::path> find_plugin(std::string_view name_or_path,
                                          const PluginSearch& search);

/// What to do when the loader says `error` of a plugin: a sentence, or "" where nothing is known.
std::string load_remedy(std::string_view error);

}  // namespace tessera::pjrt
