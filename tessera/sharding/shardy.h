#pragma once

#include <string>

#include "tessera/sharding/named_sharding.h"

/// The text by which StableHLO programs name meshes and shardings (the "sdy" dialect of Shardy).
namespace tessera {

/// The axes that a program names: those larger than one, since the others split nothing, or all
/// when none is.
std::vector<MeshAxis> named_axes(const Mesh& mesh);

/// `sdy.mesh @mesh = <["data"=2, "fsdp"=2]>` of named_axes(). Logical device i is the one at
/// position i: a program compiled with the mesh's device ids in this order as its device assignment
/// needs no more.
std::string shardy_mesh(const Mesh& mesh);

/// `#sdy.sharding<@mesh, [{"data"}, {}]>`: every dimension closed, so that the partitioner adds no
/// axes to it.
std::string shardy_sharding(const PartitionSpec& spec, int rank);

}  // namespace tessera
