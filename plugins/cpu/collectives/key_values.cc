#include "plugins/cpu/collectives/key_values.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "plugins/cpu/collectives/failure.h"

// The callbacks make their errors through a function of ours, so errors are ours to take apart. The
// plugin's own PJRT_Error belongs to XLA's side; here another layout serves, seen by nobody else.
namespace tessera::pjrt_cpu {
namespace {

struct CallbackError {
  int code;
  std::string message;
};

PJRT_Error* make_callback_error(PJRT_Error_Code code, const char* message, size_t size) {
  return reinterpret_cast<PJRT_Error*>(new CallbackError{
      static_cast<int>(code), message == nullptr ? "" : std::string(message, size)});
}

void throw_if(PJRT_Error* error, const std::string& doing, const std::string& key) {
  if (error == nullptr) return;
  const std::unique_ptr<CallbackError> owned(reinterpret_cast<CallbackError*>(error));
  throw Failure(owned->code, doing + " key '" + key + "': " + owned->message);
}

class CallbackKeyValues : public KeyValues {
 public:
  explicit CallbackKeyValues(const PJRT_Client_Create_Args& args)
      : get_(args.kv_get_callback),
        get_argument_(args.kv_get_user_arg),
        try_get_(args.kv_try_get_callback),
        try_get_argument_(args.kv_try_get_user_arg),
        put_(args.kv_put_callback),
        put_argument_(args.kv_put_user_arg) {}

  void put(const std::string& key, const std::string& value) override {
    PJRT_KeyValuePutCallback_Args args = {};
    args.struct_size = PJRT_KeyValuePutCallback_Args_STRUCT_SIZE;
    args.key = key.data();
    args.key_size = key.size();
    args.value = value.data();
    args.value_size = value.size();
    args.callback_error = &make_error_;
    args.user_arg = put_argument_;
    throw_if(put_(&args), "putting", key);
  }

  std::string get(const std::string& key, std::chrono::milliseconds timeout) override {
    PJRT_KeyValueGetCallback_Args args = {};
    args.struct_size = PJRT_KeyValueGetCallback_Args_STRUCT_SIZE;
    args.key = key.data();
    args.key_size = key.size();
    args.timeout_in_ms =
        static_cast<int>(std::clamp<int64_t>(timeout.count(), 1, std::numeric_limits<int>::max()));
    args.callback_error = &make_error_;
    args.user_arg = get_argument_;
    throw_if(get_(&args), "getting", key);
    return take(args.value, args.value_size, args.value_deleter_callback);
  }

  std::string try_get(const std::string& key) override {
    PJRT_KeyValueTryGetCallback_Args args = {};
    args.struct_size = PJRT_KeyValueTryGetCallback_Args_STRUCT_SIZE;
    args.key = key.data();
    args.key_size = key.size();
    args.callback_error = &make_error_;
    args.user_arg = try_get_argument_;
    throw_if(try_get_(&args), "getting", key);
    return take(args.value, args.value_size, args.value_deleter_callback);
  }

 private:
  static std::string take(char* value, size_t size, void (*deleter)(char*)) {
    std::string result = value == nullptr ? "" : std::string(value, size);
    if (deleter != nullptr) deleter(value);
    return result;
  }

  PJRT_KeyValueGetCallback get_;
  void* get_argument_;
  PJRT_KeyValueTryGetCallback try_get_;
  void* try_get_argument_;
  PJRT_KeyValuePutCallback put_;
  void* put_argument_;
  // Callers may keep the address beyond the call, so it lives as long as the store.
  PJRT_CallbackError make_error_ = &make_callback_error;
};

class Prefixed : public KeyValues {
 public:
  Prefixed(KeyValues& store, std::string prefix) : store_(store), prefix_(std::move(prefix)) {}
  void put(const std::string& key, const std::string& value) override {
    store_.put(prefix_ + key, value);
  }
  std::string get(const std::string& key, std::chrono::milliseconds timeout) override {
    return store_.get(prefix_ + key, timeout);
  }
  std::string try_get(const std::string& key) override { return store_.try_get(prefix_ + key); }

 private:
  KeyValues& store_;
  const std::string prefix_;
};

}  // namespace

std::unique_ptr<KeyValues> callback_key_values(const PJRT_Client_Create_Args& args) {
  if (args.kv_get_callback == nullptr || args.kv_try_get_callback == nullptr ||
      args.kv_put_callback == nullptr) {
    return nullptr;
  }
  return std::make_unique<CallbackKeyValues>(args);
}

std::unique_ptr<KeyValues> prefixed(KeyValues& store, std::string prefix) {
  return std::make_unique<Prefixed>(store, std::move(prefix));
}

}  // namespace tessera::pjrt_cpu
