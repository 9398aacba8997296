#pragma once

#include "tessera/ir/graph.h"

namespace tessera {

/// FLOP of the matrix products (two for each multiply and add) that a graph's outputs need, over
/// all devices: a loop's body as often as it runs, of a condition the dearer branch, of a while
/// loop, whose length is unknown, one round. What is computed twice counts twice: that is what
/// rematerialization costs. Everything else of a step is small beside these.
double matrix_flop(const Graph& graph);

}  // namespace tessera
