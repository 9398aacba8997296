// The one exported function.
#include "plugins/cpu/internal.h"

namespace tessera::pjrt_cpu {
namespace {

PJRT_Api make_api() {
  PJRT_Api api{};
  api.struct_size = PJRT_Api_STRUCT_SIZE;
  api.extension_start = extensions();
  api.pjrt_api_version = {PJRT_Api_Version_STRUCT_SIZE, nullptr, PJRT_API_MAJOR, PJRT_API_MINOR};
  fill_basic_slots(api);
  fill_client_slots(api);
  fill_cross_process_slots(api);
  fill_device_slots(api);
  fill_topology_slots(api);
  fill_buffer_slots(api);
  fill_transfer_slots(api);
  fill_compile_slots(api);
  fill_executable_slots(api);
  fill_execute_slots(api);
  return api;
}

}  // namespace
}  // namespace tessera::pjrt_cpu

extern "C" __attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
  static const PJRT_Api api = tessera::pjrt_cpu::make_api();
  return &api;
}
