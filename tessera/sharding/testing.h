#pragma once

#include <random>
#include <span>

#include "tessera/sharding/named_sharding.h"

/// For tests only: layouts by chance, the same for the same seed.
namespace tessera::testing {

/// Of up to three dimensions, each 24, 48 or (seldom) 0: any layout below fits.
Dims random_dims(std::mt19937& random);
/// A layout of such a tensor over some of `device_ids`, in any order, 1, 2, 3, 4, 6 or 8 of them,
/// with up to three axes.
NamedSharding random_sharding(std::mt19937& random, std::span<const int64_t> device_ids,
                              const Dims& dims);

}  // namespace tessera::testing
