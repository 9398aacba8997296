#pragma once

#include "tessera/runtime/compiled_function.h"
#include "tessera/sharding/transfer_plan.h"

namespace tessera {

/// What elements travel as: XLA computes with narrow floats in wider ones, which quiets NaNs, and
/// has no collectives of four-bit integers on every platform.
DType carrier(DType dtype);

/// A program over the devices of `plan` that carries it out. Each device's argument is what it
/// holds at the beginning, of the dimensions `source` (anything where it holds nothing), and its
/// result what it shall hold, of the dimensions `destination` (of no use elsewhere). No arithmetic
/// touches the elements: they arrive bit by bit, whatever the dtype.
Result<Program> transfer_program(const TransferPlan& plan, DType dtype, const Dims& source,
                                 const Dims& destination);

}  // namespace tessera
