#pragma once

#include <vector>

#include "tessera/runtime/runtime.h"
#include "tessera/runtime/transfer_guard.h"
#include "tessera/sharding/named_sharding.h"

namespace tessera {

/// Asks the transfer guard for an array that is about to be put on the devices; each gets a part.
Status check_put(const Shape& shape, const NamedSharding& sharding,
                 const std::vector<Runtime::LocalDevice>& devices, const TransferSite& site);

}  // namespace tessera
