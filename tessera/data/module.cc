#include "tessera/data/module.h"

#include <dlfcn.h>
#include <unistd.h>

#include <climits>
#include <string>

namespace tessera {
namespace {

std::string program_folder() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  const std::string_view program(path, length > 0 ? length : 0);
  return std::string(program.substr(0, program.rfind('/')));
}

void* open_module(const std::string& path) {
  int flags = RTLD_NOW | RTLD_LOCAL;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they refuse RTLD_DEEPBIND
  flags |= RTLD_DEEPBIND;
#endif
  return dlopen(path.c_str(), flags);
}

}  // namespace

Result<void*> load_module(std::string_view file, const char* symbol, std::string_view remedy) {
  std::string errors;
  for (const std::string_view folder : {"/../lib/", "/../lib/tessera/", "/"}) {
    const std::string path = str_cat(program_folder(), folder, file);
    void* module = open_module(path);
    if (module == nullptr) {
      str_append(&errors, "\n  ", std::string(dlerror()));
      continue;
    }
    void* address = dlsym(module, symbol);
    if (address == nullptr) return internal_error(path, " lacks ", std::string(symbol));
    return address;
  }
  return not_found(remedy, " Tried:", errors);
}

}  // namespace tessera
