#pragma once

#include <span>
#include <vector>

#include "tessera/ir/op.h"

namespace tessera {

// The ops of each family, in the order in which their headers declare them. One list a family, in
// its .cc file.
std::span<const OpDef* const> constant_ops();
std::span<const OpDef* const> control_ops();
std::span<const OpDef* const> elementwise_ops();
std::span<const OpDef* const> indexing_ops();
std::span<const OpDef* const> linear_ops();
std::span<const OpDef* const> random_ops();
std::span<const OpDef* const> reduce_ops();
std::span<const OpDef* const> shape_ops();
std::span<const OpDef* const> sharding_ops();
std::span<const OpDef* const> sort_ops();

/// Every op there is: what the table tests walk.
std::vector<const OpDef*> all_ops();

}  // namespace tessera
