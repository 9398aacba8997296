#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "tessera/base/status.h"
#include "tessera/ir/host_array.h"

namespace tessera {

/// Hands every process's text to all of them, by process: how those that take part compare what
/// they have. All make the same calls in the same order; one that does not come is an error of all
/// others within a bound. coord::Exchange::gather_texts() is one.
using GatherTexts = std::function<Result<std::map<int64_t, std::string>>(const std::string& own)>;

/// OK when all processes hold the same value, bit by bit; else an error on all that tells who holds
/// what. Only hashes go between them. `what` names the value in the message.
Status require_same_value(const HostArray& value, std::string_view what, const GatherTexts& gather);

}  // namespace tessera
