#include "tessera/base/usage_error.h"

#include "absl/strings/cord.h"

namespace tessera {
namespace {

constexpr const char* kUsagePayload = "tessera/usage";

}  // namespace

Status usage_error(const Status& status) {
  Status marked = status;
  marked.SetPayload(kUsagePayload, absl::Cord("1"));
  return marked;
}

bool is_usage_error(const Status& status) { return status.GetPayload(kUsagePayload).has_value(); }

}  // namespace tessera
