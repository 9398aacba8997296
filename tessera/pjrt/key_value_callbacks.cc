#include <string>

#include "tessera/pjrt/key_value_callbacks_internal.h"

namespace tessera::pjrt {
namespace {

// Plugins know how to make their errors, so each callback brings a function that does.
PJRT_Error* to_error(const Status& status, const PJRT_CallbackError* make) {
  return status.ok() ? nullptr
                     : (*make)(static_cast<PJRT_Error_Code>(status.code()), status.message().data(),
                               status.message().size());
}

template <typename Args>
PJRT_Error* give(const Result<std::string>& value, Args* args) {
  if (!value.ok()) return to_error(value.status(), args->callback_error);
  args->value = new char[value->size() + 1];
  std::copy(value->begin(), value->end(), args->value);
  args->value_size = value->size();
  args->value_deleter_callback = [](char* text) { delete[] text; };
  return nullptr;
}

KeyValueStore& store_of(void* argument) { return *static_cast<KeyValueStore*>(argument); }

PJRT_Error* get(PJRT_KeyValueGetCallback_Args* args) {
  return give(
      store_of(args->user_arg)
          .get(std::string(args->key, args->key_size), absl::Milliseconds(args->timeout_in_ms)),
      args);
}

PJRT_Error* try_get(PJRT_KeyValueTryGetCallback_Args* args) {
  return give(store_of(args->user_arg).try_get(std::string(args->key, args->key_size)), args);
}

PJRT_Error* put(PJRT_KeyValuePutCallback_Args* args) {
  return to_error(
      store_of(args->user_arg)
          .put(std::string(args->key, args->key_size), std::string(args->value, args->value_size)),
      args->callback_error);
}

}  // namespace

void set_key_value_callbacks(KeyValueStore& store, PJRT_Client_Create_Args* args) {
  args->kv_get_callback = get;
  args->kv_get_user_arg = &store;
  args->kv_try_get_callback = try_get;
  args->kv_try_get_user_arg = &store;
  args->kv_put_callback = put;
  args->kv_put_user_arg = &store;
}

}  // namespace tessera::pjrt
