#include "tessera/pjrt/handlers.h"

#include "tessera/base/strings.h"
#include "tessera/pjrt/api_internal.h"
#include "xla/pjrt/c/pjrt_c_api_ffi_extension.h"

namespace tessera::pjrt {
namespace {

const PJRT_FFI_Extension* find_ffi(const PJRT_Api* api) {
  for (const PJRT_Extension_Base* next = api->extension_start; next != nullptr; next = next->next) {
    if (next->type == PJRT_Extension_Type_FFI)
      return reinterpret_cast<const PJRT_FFI_Extension*>(next);
  }
  return nullptr;
}

}  // namespace

Status register_handler(const Plugin& plugin, std::string_view target, void* handler,
                        std::string_view platform) {
  const PJRT_FFI_Extension* ffi = find_ffi(plugin.api());
  if (ffi == nullptr || ffi->register_handler == nullptr)
    return unimplemented("plugin ", plugin.path(), " takes no handlers (FFI)");
  PJRT_ARGS(PJRT_FFI_Register_Handler, args);
  args.target_name = target.data();
  args.target_name_size = target.size();
  args.handler = handler;
  args.platform_name = platform.data();
  args.platform_name_size = platform.size();
  return annotate(take_error(plugin.api(), ffi->register_handler(&args)),
                  str_cat("registering ", target));
}

}  // namespace tessera::pjrt
