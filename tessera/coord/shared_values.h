#pragma once

#include <memory>
#include <string>

#include "tessera/base/key_value_store.h"
#include "tessera/coord/client.h"

namespace tessera::coord {

/// The coordinator's key-values, each key with `prefix` before it. `client` must outlive the result
/// and whatever holds on to it, as a client of a PJRT plugin does.
std::shared_ptr<KeyValueStore> shared_values(Client& client, std::string prefix);

}  // namespace tessera::coord
