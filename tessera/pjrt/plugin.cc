#include "tessera/pjrt/plugin.h"

#include <dlfcn.h>

#include "tessera/pjrt/api_internal.h"
#include "tessera/pjrt/library_internal.h"
#include "tessera/pjrt/named_value_internal.h"
#include "tessera/pjrt/plugin_search.h"

namespace tessera::pjrt {
namespace {

// A plugin brings its own protobuf, absl and BoringSSL: RTLD_DEEPBIND makes it use them, not ours.
// The sanitizers' own interception does not work with it.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kLoadFlags = RTLD_NOW | RTLD_LOCAL;
#else
constexpr int kLoadFlags = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#endif

/// The table's start up to here is needed by every program; what follows is asked for where it is
/// used.
constexpr size_t kRequiredTableSize =
    offsetof(PJRT_Api, PJRT_Executable_OutputDimensions) + sizeof(void*);

Status check_version(const std::string& path, const PJRT_Api* api) {
  const PJRT_Api_Version& version = api->pjrt_api_version;
  if (version.major_version == PJRT_API_MAJOR && api->struct_size >= kRequiredTableSize) {
    return absl::OkStatus();
  }
  return failed_precondition(
      "plugin ", path, " speaks PJRT ", version.major_version, ".", version.minor_version,
      " with a table of ", api->struct_size, " bytes; needed is PJRT ", PJRT_API_MAJOR,
      ".x with at least ", kRequiredTableSize, " bytes (Tessera was built with ", PJRT_API_MAJOR,
      ".", PJRT_API_MINOR, "). Install ",
      version.major_version > PJRT_API_MAJOR ? "an older plugin or a newer Tessera"
                                             : "a newer plugin");
}

}  // namespace

Result<Plugin> Plugin::load(std::string_view name_or_path) {
  ASSIGN_OR_RETURN(const auto file, find_plugin(name_or_path, PluginSearch::from_environment()));
  const std::string path = file.string();
  void* library = open_library(path, kLoadFlags);
  if (library == nullptr) {
    const std::string error = dlerror();
    const std::string remedy = load_remedy(error);
    return failed_precondition("plugin ", path, " does not load: ", error,
                               remedy.empty() ? "" : "\n  ", remedy);
  }
  using GetApi = const PJRT_Api* (*)();
  const auto get_api = reinterpret_cast<GetApi>(dlsym(library, "GetPjrtApi"));
  if (get_api == nullptr) {
    return failed_precondition(path, " is no PJRT plugin: it exports no GetPjrtApi");
  }
  const PJRT_Api* api = get_api();
  if (api == nullptr) return failed_precondition("plugin ", path, ": GetPjrtApi returned null");
  RETURN_IF_ERROR(check_version(path, api));
  PJRT_ARGS(PJRT_Plugin_Initialize, args);
  RETURN_IF_ERROR(annotate(PJRT_CALL(api, PJRT_Plugin_Initialize, args),
                           str_cat("plugin ", path, ": initialization")));
  return Plugin(path, api);
}

std::string Plugin::api_version() const {
  return str_cat(api_->pjrt_api_version.major_version, ".", api_->pjrt_api_version.minor_version);
}

std::vector<NamedValue> Plugin::attributes() const {
  PJRT_ARGS(PJRT_Plugin_Attributes, args);
  if (!PJRT_CALL(api_, PJRT_Plugin_Attributes, args).ok()) return {};
  return from_c(args.attributes, args.num_attributes);
}

}  // namespace tessera::pjrt
