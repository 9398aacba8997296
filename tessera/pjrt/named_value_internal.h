#pragma once

#include <span>
#include <vector>

#include "tessera/pjrt/named_value.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace tessera::pjrt {

/// C views of `values`, which must outlive them.
std::vector<PJRT_NamedValue> to_c(std::span<const NamedValue> values);
/// Copies of what a plugin returned. A value of a type unknown to us is left out.
std::vector<NamedValue> from_c(const PJRT_NamedValue* values, size_t count);

}  // namespace tessera::pjrt
