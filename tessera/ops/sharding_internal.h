#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tessera/sharding/mesh.h"

namespace tessera {

/// Size of an axis; fails where the mesh has none of that name.
int64_t checked_axis_size(const Mesh& mesh, const std::string& name);
/// Devices along all of them.
int64_t devices_along(const Mesh& mesh, std::span<const std::string> axes);

}  // namespace tessera
