#pragma once

#include <stdexcept>
#include <string>

namespace tessera::pjrt_cpu {

/// What goes wrong between processes. This folder throws it, because Gloo throws too and much of
/// the code runs below its calls; what calls from XLA or from C turns it into a status at once.
class Failure : public std::runtime_error {
 public:
  /// The numbers are those of absl::StatusCode and PJRT_Error_Code.
  enum Code {
    kCancelled = 1,
    kUnknown = 2,
    kInvalidArgument = 3,
    kDeadlineExceeded = 4,
    kNotFound = 5,
    kAlreadyExists = 6,
    kResourceExhausted = 8,
    kFailedPrecondition = 9,
    kUnimplemented = 12,
    kInternal = 13,
    kUnavailable = 14,
  };
  Failure(int code, const std::string& message) : std::runtime_error(message), code_(code) {}
  /// A Code, or another canonical one that a key-value store gave.
  int code() const { return code_; }

 private:
  int code_;
};

}  // namespace tessera::pjrt_cpu
