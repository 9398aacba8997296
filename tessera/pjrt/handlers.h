#pragma once

#include <string_view>

#include "tessera/base/status.h"
#include "tessera/pjrt/plugin.h"

namespace tessera::pjrt {

/// Makes `handler`, an XLA_FFI_Handler* (xla/ffi/api/c_api.h), what programs of this plugin call by
/// the name `target`, in every client of it, until the process ends. The same handler may be
/// registered again. UNIMPLEMENTED where the plugin has no FFI extension; INVALID_ARGUMENT where it
/// does not know the platform, such as "Host", which is XLA's name for the CPU.
Status register_handler(const Plugin& plugin, std::string_view target, void* handler,
                        std::string_view platform);

}  // namespace tessera::pjrt
