#include <dlfcn.h>

#include "tessera/base/strings.h"
#include "tessera/pjrt/api_internal.h"
#include "tessera/pjrt/client.h"

namespace tessera::pjrt {
namespace {

// As plugins/cpu/traffic.h has it: the one addition of our plugin to the PJRT C API.
struct CTraffic {
  size_t struct_size;
  uint64_t bytes_sent, bytes_received, operations;
};
using GetTraffic = int (*)(PJRT_Client*, CTraffic*);

// Null where the plugin, which is loaded, has no such function.
GetTraffic find_traffic(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  const auto get = reinterpret_cast<GetTraffic>(dlsym(library, "tessera_pjrt_cpu_traffic"));
  dlclose(library);  // only the count; plugins stay loaded
  return get;
}

}  // namespace

bool Plugin::is_ours() const { return find_traffic(path_) != nullptr; }

Result<Traffic> Client::traffic() const {
  const GetTraffic get = find_traffic(plugin_.path());
  if (get == nullptr) {
    return unimplemented("plugin ", plugin_.path(), " does not count what it sends");
  }
  CTraffic traffic = {.struct_size = sizeof(CTraffic)};
  if (get(handle_->client, &traffic) == 0) {
    return unimplemented("plugin ", plugin_.path(), " counts what it sends in another way");
  }
  return Traffic{traffic.bytes_sent, traffic.bytes_received, traffic.operations};
}

}  // namespace tessera::pjrt
