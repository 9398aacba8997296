#pragma once

#include "tessera/base/key_value_store.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace tessera::pjrt {

/// Sets the callbacks through which a plugin reaches `store`, which must outlive the client.
void set_key_value_callbacks(KeyValueStore& store, PJRT_Client_Create_Args* args);

}  // namespace tessera::pjrt
