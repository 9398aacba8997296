// A library that says it speaks another version of PJRT than ours: the version check is tested with
// it.
#include "xla/pjrt/c/pjrt_c_api.h"

extern "C" __attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
  static PJRT_Api api = {};
  api.struct_size = 200;
  api.pjrt_api_version.major_version = TEST_MAJOR;
  api.pjrt_api_version.minor_version = 7;
  return &api;
}
