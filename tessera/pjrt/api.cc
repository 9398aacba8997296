#include "tessera/pjrt/api_internal.h"

namespace tessera::pjrt {

Status take_error(const PJRT_Api* api, PJRT_Error* error) {
  if (error == nullptr) return absl::OkStatus();
  PJRT_ARGS(PJRT_Error_GetCode, code);
  code.error = error;
  Status unreadable = take_error(api, api->PJRT_Error_GetCode(&code));
  PJRT_ARGS(PJRT_Error_Message, message);
  message.error = error;
  api->PJRT_Error_Message(&message);
  // The codes are the canonical sixteen on both sides.
  const auto status_code =
      unreadable.ok() ? static_cast<absl::StatusCode>(code.code) : absl::StatusCode::kUnknown;
  Status status(status_code, absl::string_view(message.message, message.message_size));
  PJRT_ARGS(PJRT_Error_Destroy, destroy);
  destroy.error = error;
  api->PJRT_Error_Destroy(&destroy);
  return status;
}

Status missing_function(const PJRT_Api* api, const char* name) {
  return unimplemented("the plugin (PJRT ", api->pjrt_api_version.major_version, ".",
                       api->pjrt_api_version.minor_version, ") has no ", name);
}

ClientHandle::~ClientHandle() {
  PJRT_ARGS(PJRT_Client_Destroy, args);
  args.client = client;
  // Nobody is left to tell of an error.
  PJRT_CALL(api, PJRT_Client_Destroy, args).IgnoreError();
}

}  // namespace tessera::pjrt
