#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/base/strings.h"

namespace tessera {

/// The result of anything that can fail. Codes are the sixteen canonical ones, which PJRT and gRPC
/// share.
using Status = absl::Status;

/// A value, or the reason why there is none.
template <typename T>
using Result = absl::StatusOr<T>;

/// The same status with `context` before its message: "context: message". OK stays OK.
inline Status annotate(const Status& status, std::string_view context) {
  if (status.ok()) return status;
  return Status(status.code(), str_cat(context, ": ", status.message()));
}

/// One call for each kind of error that this code base makes: `return invalid_argument("mesh: got
/// ", n);`
template <typename... Args>
Status invalid_argument(const Args&... args) {
  return absl::InvalidArgumentError(str_cat(args...));
}
template <typename... Args>
Status not_found(const Args&... args) {
  return absl::NotFoundError(str_cat(args...));
}
template <typename... Args>
Status failed_precondition(const Args&... args) {
  return absl::FailedPreconditionError(str_cat(args...));
}
template <typename... Args>
Status data_loss(const Args&... args) {
  return absl::DataLossError(str_cat(args...));
}
template <typename... Args>
Status internal_error(const Args&... args) {
  return absl::InternalError(str_cat(args...));
}
template <typename... Args>
Status unimplemented(const Args&... args) {
  return absl::UnimplementedError(str_cat(args...));
}

namespace status_internal {
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const std::string& message);
}  // namespace status_internal

}  // namespace tessera

#define TESSERA_CONCAT_INNER(a, b) a##b
#define TESSERA_CONCAT(a, b) TESSERA_CONCAT_INNER(a, b)

/// Returns the status from the enclosing function when it is not OK.
#define RETURN_IF_ERROR(expression)                          \
  do {                                                       \
    ::tessera::Status status_macro_value = (expression);     \
    if (!status_macro_value.ok()) return status_macro_value; \
  } while (false)

/// `ASSIGN_OR_RETURN(auto x, f());` declares x, or returns f's status from the enclosing function.
#define ASSIGN_OR_RETURN(lhs, expression) \
  TESSERA_ASSIGN_OR_RETURN_IMPL(TESSERA_CONCAT(result_macro_, __LINE__), lhs, expression)
#define TESSERA_ASSIGN_OR_RETURN_IMPL(result, lhs, expression) \
  auto result = (expression);                                  \
  if (!result.ok()) return std::move(result).status();         \
  lhs = std::move(result).value()

/// Ends the process when an invariant of our own is broken; never for bad input.
#define CHECK(condition)        \
  (static_cast<bool>(condition) \
       ? static_cast<void>(0)   \
       : ::tessera::status_internal::check_failed(__FILE__, __LINE__, #condition, std::string()))
#define CHECK_MSG(condition, message) \
  (static_cast<bool>(condition)       \
       ? static_cast<void>(0)         \
       : ::tessera::status_internal::check_failed(__FILE__, __LINE__, #condition, (message)))
