#include <dlfcn.h>

#include "tessera/base/strings.h"
#include "tessera/pjrt/api_internal.h"
#include "tessera/pjrt/client.h"

namespace tessera::pjrt {
namespace {

// As plugins/cpu/traffic.h has them: the additions of our plugin to the PJRT C API.
struct CTraffic {
  size_t struct_size;
  uint64_t bytes_sent, bytes_received, operations, waited_ns;
};
using GetTraffic = int (*)(PJRT_Client*, CTraffic*);
using GetCollectives = size_t (*)(PJRT_Client*, char*, size_t);

// Null where the plugin, which is loaded, has no such function.
template <typename Function>
Function find(const std::string& path, const char* name) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  const auto found = reinterpret_cast<Function>(dlsym(library, name));
  dlclose(library);  // only the count; plugins stay loaded
  return found;
}

GetTraffic find_traffic(const std::string& path) {
  return find<GetTraffic>(path, "tessera_pjrt_cpu_traffic");
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
  return Traffic{traffic.bytes_sent, traffic.bytes_received, traffic.operations,
                 absl::Nanoseconds(traffic.waited_ns)};
}

Result<std::string> Client::collectives_under_way() const {
  const auto get = find<GetCollectives>(plugin_.path(), "tessera_pjrt_cpu_collectives");
  if (get == nullptr)
    return unimplemented("plugin ", plugin_.path(), " does not tell what it waits for");
  // More may come between the two calls: of no matter, they are the newest.
  std::string text(get(handle_->client, nullptr, 0) + 1, '\0');
  get(handle_->client, text.data(), text.size());
  text.resize(text.find('\0'));
  return text;
}

}  // namespace tessera::pjrt
