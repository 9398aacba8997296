#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/status.h"
#include "tessera/sharding/hybrid_mesh.h"
#include "tessera/train/config.h"

namespace tessera {

/// How a run may go on over fewer devices than its recipe was written for, the best first: recipes
/// with other degrees of data and fsdp, all other axes as they were, and as many gradient
/// accumulation steps as it takes that no device computes more rows at once than before. The global
/// batch stays. Degrees of fsdp below the recipe's, by which each device holds more, come last.
///
/// `devices` are what there is, `all_devices` how many the recipe counts on, in slices of the same
/// size. Empty where nothing fits: the other axes do not divide the devices, or the batch cannot be
/// cut. What the model says to it is not looked at.
Result<std::vector<RunConfig>> fits_for_fewer(const RunConfig& config, const Slices& devices,
                                              int64_t all_devices);

/// The error of a recipe that fits nothing of what there is: not one of wrong usage, since with
/// fewer or more processes it may fit.
Status does_not_fit(const std::string& why);
bool is_does_not_fit(const Status& status);

}  // namespace tessera
