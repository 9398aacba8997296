#pragma once

#include "tessera/sharding/partition_spec.h"

namespace tessera {

/// Which mesh axes split which dimension, by the names that models give their dimensions:
///
///     batch and fsdp   a batch is split over data and fsdp; every weight over fsdp too, and
///     gathered where it is used tensor           heads, feed-forward width and vocabulary, of
///     weights and activations alike (Shoeybi and others
///                      2019, Megatron-LM)
///     norms, layers    whole everywhere
AxisRules default_axis_rules();

}  // namespace tessera
