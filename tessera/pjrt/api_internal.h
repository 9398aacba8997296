#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "tessera/base/key_value_store.h"
#include "tessera/base/status.h"
#include "xla/pjrt/c/pjrt_c_api.h"

/// For the .cc files of this folder only: calling the C API with sizes checked, errors turned into
/// Status, handles owned.
namespace tessera::pjrt {

/// Takes `error` (null is OK), frees it, and returns what it said.
Status take_error(const PJRT_Api* api, PJRT_Error* error);

/// A function that the plugin's table does not hold, because it is older or leaves it out.
Status missing_function(const PJRT_Api* api, const char* name);

/// Calls one entry of the table, if the table is long enough to hold it.
template <typename Args>
Status call_entry(const PJRT_Api* api, size_t offset, PJRT_Error* (*PJRT_Api::*entry)(Args*),
                  const char* name, Args* args) {
  if (api->struct_size < offset + sizeof(void*) || api->*entry == nullptr) {
    return missing_function(api, name);
  }
  return take_error(api, (api->*entry)(args));
}

/// A client that buffers and executables share, so that it outlives them all.
struct ClientHandle {
  const PJRT_Api* api;
  PJRT_Client* client;
  std::shared_ptr<KeyValueStore> key_values;  // that the plugin may call until its client's end
  ClientHandle(const PJRT_Api* api, PJRT_Client* client,
               std::shared_ptr<KeyValueStore> key_values = nullptr)
      : api(api), client(client), key_values(std::move(key_values)) {}
  ClientHandle(const ClientHandle&) = delete;
  ~ClientHandle();
};

}  // namespace tessera::pjrt

/// Declares `args` of the function's argument type: all zero but its size.
#define PJRT_ARGS(function, args) \
  function##_Args args = {};      \
  args.struct_size = function##_Args_STRUCT_SIZE

#define PJRT_CALL(api, function, args)                                                             \
  ::tessera::pjrt::call_entry((api), offsetof(PJRT_Api, function), &PJRT_Api::function, #function, \
                              &(args))
