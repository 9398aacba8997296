// The C API's opaque handles and the helpers that every file of the plugin uses.
#pragma once

#include "plugins/cpu/pool.h"
#include "plugins/cpu/xla_pch.h"

struct PJRT_Error {
  absl::Status status;
};

struct PJRT_Event {
  xla::Future<> future;
  std::optional<xla::Promise<>> promise;  // of PJRT_Event_Create, until PJRT_Event_Set
};

namespace tessera::pjrt_cpu {

// ---- errors
// ---------------------------------------------------------------------------------------------------------

/// A new error for the caller to destroy; null when `status` is OK.
PJRT_Error* make_error(const absl::Status& status);
/// The status of an error that a caller passed by code and message; code OK gives OK.
absl::Status status_of(PJRT_Error_Code code, const char* message, size_t message_size);

inline absl::Status invalid(std::string message) {
  return absl::InvalidArgumentError(std::move(message));
}

/// OK unless `pointer` is null; then says which argument was.
template <typename T>
absl::Status require(const T* pointer, std::string_view what) {
  if (pointer != nullptr) return absl::OkStatus();
  return invalid(absl::StrCat("argument ", what, " is null"));
}

/// OK unless a struct from the caller is smaller than the fields read here.
absl::Status check_struct_size(std::string_view what, size_t expected, size_t actual);

/// Builds std::string_view from a C pair; a null pointer gives the empty string.
inline std::string_view view(const char* data, size_t size) {
  return data == nullptr ? std::string_view() : std::string_view(data, size);
}

/// Gives the caller a pointer into what a handle holds: a text or a list.
template <typename Held, typename Pointer>
absl::Status give(const Held& held, Pointer& data, size_t& size) {
  data = held.data();
  size = held.size();
  return absl::OkStatus();
}

// ---- entry points
// ---------------------------------------------------------------------------------------------------

PJRT_Error* reject_null(const char* function, const char* what);
PJRT_Error* reject_size(const char* function, size_t expected, size_t actual);
PJRT_Error* finish(const char* function, const absl::Status& status);
PJRT_Error* reject_exception(const char* function);

/// The C function of one table slot: checks the argument struct and its handle, runs `kBody`, turns
/// its status into an error, and lets no exception out into C.
template <typename Args, size_t kSize, auto kHandle, absl::Status (*kBody)(Args&),
          const char* kName>
PJRT_Error* entry(Args* args) {
  if (args == nullptr) return reject_null(kName, "argument struct");
  if (args->struct_size < kSize) return reject_size(kName, kSize, args->struct_size);
  if constexpr (!std::is_same_v<decltype(kHandle), std::nullptr_t>) {
    if (args->*kHandle == nullptr) return reject_null(kName, "handle");
  }
  try {
    const absl::Status status = kBody(*args);
    return status.ok() ? nullptr : finish(kName, status);
  } catch (...) {
    return reject_exception(kName);
  }
}

/// Fills one table slot: TESSERA_SLOT(api, PJRT_Buffer_Delete, buffer, buffer_delete). The third is
/// the field of the argument struct that must not be null.
#define TESSERA_SLOT(table, function, handle, body)                        \
  do {                                                                     \
    static constexpr char kName[] = #function;                             \
    (table).function = entry<function##_Args, function##_Args_STRUCT_SIZE, \
                             &function##_Args::handle, body, kName>;       \
  } while (false)
/// The same for a function without a handle.
#define TESSERA_SLOT_PLAIN(table, function, body)                                                 \
  do {                                                                                            \
    static constexpr char kName[] = #function;                                                    \
    (table).function = entry<function##_Args, function##_Args_STRUCT_SIZE, nullptr, body, kName>; \
  } while (false)

// Each file of the plugin fills the slots it implements.
void fill_basic_slots(PJRT_Api& api);          // errors, plugin, events
void fill_client_slots(PJRT_Api& api);         // client, compile
void fill_cross_process_slots(PJRT_Api& api);  // news of other processes
void fill_device_slots(PJRT_Api& api);         // devices, memories
void fill_topology_slots(PJRT_Api& api);
void fill_buffer_slots(PJRT_Api& api);
void fill_transfer_slots(PJRT_Api& api);  // host to device
void fill_compile_slots(PJRT_Api& api);
void fill_executable_slots(PJRT_Api& api);
void fill_execute_slots(PJRT_Api& api);

// ---- events
// ---------------------------------------------------------------------------------------------------------

inline PJRT_Event* make_event(xla::Future<> future) {
  return new PJRT_Event{std::move(future), std::nullopt};
}

// ---- conversions
// ----------------------------------------------------------------------------------------------------

absl::StatusOr<xla::PrimitiveType> to_xla_type(PJRT_Buffer_Type type);
PJRT_Buffer_Type to_pjrt_type(xla::PrimitiveType type);

/// The shape of `type[dims]` with its default (major to minor) layout. Errors: negative or
/// overflowing sizes, null dims.
absl::StatusOr<xla::Shape> make_shape(PJRT_Buffer_Type type, const int64_t* dims, size_t num_dims);
/// The layout a caller described, for an array of `shape`; nullopt when `layout` is null.
absl::StatusOr<std::optional<xla::Layout>> to_xla_layout(const PJRT_Buffer_MemoryLayout* layout,
                                                         const xla::Shape& shape);

/// Named values for a caller, with the storage that they point into. Immovable once given out.
class NamedValues {
 public:
  void add(std::string_view name, const xla::PjRtValueType& value);
  const PJRT_NamedValue* data() const { return values_.data(); }
  size_t size() const { return values_.size(); }

 private:
  std::vector<PJRT_NamedValue> values_;
  std::deque<std::string> strings_;
  std::deque<std::vector<int64_t>> lists_;
};

}  // namespace tessera::pjrt_cpu

// ---- handles
// --------------------------------------------------------------------------------------------------------

struct PJRT_DeviceDescription {
  int id = 0, process_index = 0;
  std::string kind, debug_string, to_string;
  tessera::pjrt_cpu::NamedValues attributes;
};

struct PJRT_Memory {
  PJRT_Client* client = nullptr;
  xla::PjRtMemorySpace* space = nullptr;
  std::vector<PJRT_Device*> devices;
};

/// A device of this process, or (device == null) a stand-in for another process's.
struct PJRT_Device {
  PJRT_Client* client = nullptr;
  xla::PjRtDevice* device = nullptr;
  PJRT_DeviceDescription description;
  std::vector<PJRT_Memory*> memories;
  PJRT_Memory* default_memory = nullptr;
};

struct PJRT_TopologyDescription {
  std::unique_ptr<xla::CpuTopologyDescription> topology;
  std::string platform_name;
  std::vector<std::unique_ptr<PJRT_DeviceDescription>> owned;
  std::vector<PJRT_DeviceDescription*> descriptions;
  tessera::pjrt_cpu::NamedValues attributes;
};

namespace tessera::pjrt_cpu {
struct CrossProcess;
}

struct PJRT_Client {
  std::shared_ptr<tessera::pjrt_cpu::MemoryPool> pool;
  std::shared_ptr<tessera::pjrt_cpu::CrossProcess> cross_process;  // null: one process
  std::unique_ptr<xla::PjRtClient> client;
  std::string platform_name, platform_version;
  int process_index = 0;
  std::vector<std::unique_ptr<PJRT_Device>> owned_devices;
  std::vector<std::unique_ptr<PJRT_Memory>> owned_memories;
  std::vector<PJRT_Device*> devices, addressable_devices;
  std::vector<PJRT_Memory*> memories;
  absl::flat_hash_map<const xla::PjRtDevice*, PJRT_Device*> device_of;
  absl::flat_hash_map<const xla::PjRtMemorySpace*, PJRT_Memory*> memory_of;
  std::unique_ptr<PJRT_TopologyDescription> topology;
};

struct PJRT_Layouts_MemoryLayout {
  std::shared_ptr<const xla::PjRtLayout> layout;
};

/// A program without its devices. `loaded` backs it, or `unloaded` when it was compiled without
/// loading.
struct PJRT_Executable {
  std::shared_ptr<xla::PjRtLoadedExecutable> loaded;
  std::unique_ptr<xla::PjRtClient> compiled_by;  // when no client of the caller did
  std::unique_ptr<xla::PjRtExecutable> unloaded;
  PJRT_Client* client = nullptr;

  // What was once asked for: callers get pointers into it. Each part is computed under the mutex,
  // then immutable.
  std::mutex mutex;
  std::optional<std::vector<PJRT_Buffer_Type>> output_types;
  std::optional<std::vector<int64_t>> output_dims;
  std::vector<size_t> output_ranks;
  std::optional<std::vector<const char*>> memory_kinds;
  std::vector<size_t> memory_kind_sizes;
  std::optional<std::string> optimized_program, fingerprint, name;
  std::optional<tessera::pjrt_cpu::NamedValues> cost;
  std::vector<std::unique_ptr<PJRT_Layouts_MemoryLayout>> owned_layouts;
  std::optional<std::vector<PJRT_Layouts_MemoryLayout*>> output_layouts;

  const xla::PjRtExecutable& get() const { return loaded ? *loaded->GetExecutable() : *unloaded; }
};

struct PJRT_LoadedExecutable {
  std::shared_ptr<xla::PjRtLoadedExecutable> executable;
  PJRT_Client* client = nullptr;
  std::vector<PJRT_Device*> addressable_devices;
  std::vector<int> processes;  // that run it, ascending; empty: only this one
  size_t num_outputs = 0;
  std::atomic<bool> deleted = false;
  std::mutex mutex;
  std::optional<std::string> fingerprint;
};

struct PJRT_ExecuteContext {
  xla::ExecuteContext context;
};

struct PJRT_Buffer {
  std::unique_ptr<xla::PjRtBuffer> buffer;
  PJRT_Client* client = nullptr;
  // Filled when first asked for; callers get pointers into them.
  std::mutex mutex;
  std::vector<int64_t> unpadded_dims;
  std::vector<size_t> dynamic_dims;
  std::vector<int64_t> minor_to_major;
  std::vector<std::unique_ptr<xla::PjRtBuffer::ExternalReference>> external_references;
};

struct PJRT_AsyncHostToDeviceTransferManager {
  std::unique_ptr<xla::PjRtClient::AsyncHostToDeviceTransferManager> manager;
  PJRT_Client* client = nullptr;
  std::vector<xla::Shape> shapes;
  std::mutex mutex;
  std::vector<bool> retrieved, finished;
};

struct PJRT_FulfillAliasBufferCallback {
  xla::PjRtFulfillAliasBufferCallback fulfill;
};

namespace tessera::pjrt_cpu {

inline PJRT_Buffer* make_buffer(std::unique_ptr<xla::PjRtBuffer> buffer, PJRT_Client* client) {
  auto* handle = new PJRT_Buffer;
  handle->buffer = std::move(buffer);
  handle->client = client;
  return handle;
}

/// The memory space a caller means by a memory, or a device's default one. Errors: neither, or of
/// another client.
absl::StatusOr<xla::PjRtMemorySpace*> choose_memory(const PJRT_Client* client,
                                                    const PJRT_Memory* memory,
                                                    const PJRT_Device* device);

/// Fills a description from XLA's.
void describe(const xla::PjRtDeviceDescription& from, PJRT_DeviceDescription* to);
/// A topology handle over XLA's description.
std::unique_ptr<PJRT_TopologyDescription> make_topology(
    std::unique_ptr<xla::CpuTopologyDescription> topology, std::string platform_name);

/// The chain of extensions: layouts, FFI.
PJRT_Extension_Base* extensions();

}  // namespace tessera::pjrt_cpu
