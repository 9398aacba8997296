#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/status.h"
#include "tessera/pjrt/named_value.h"

struct PJRT_Api;

namespace tessera::pjrt {

/// A loaded PJRT plugin. Copies refer to the same library, which stays loaded until the process
/// ends: unloading XLA is not safe. Safe to use from several threads.
class Plugin {
 public:
  /// Loads a plugin by path or short name (see find_plugin) and checks that its interface is one we
  /// can speak.
  static Result<Plugin> load(std::string_view name_or_path);

  const std::string& path() const { return path_; }
  /// Major and minor version of the PJRT interface that the plugin was built with: "0.90".
  std::string api_version() const;
  /// "xla_version", "stablehlo_current_version" and the like; empty when the plugin tells none.
  std::vector<NamedValue> attributes() const;

  /// Whether this is plugins/cpu, which takes options that others do not know.
  bool is_ours() const;

  /// The C function table, for code that registers extensions.
  const PJRT_Api* api() const { return api_; }

 private:
  Plugin(std::string path, const PJRT_Api* api) : path_(std::move(path)), api_(api) {}

  std::string path_;
  const PJRT_Api* api_;
};

}  // namespace tessera::pjrt
