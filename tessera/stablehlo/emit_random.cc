#include "tessera/stablehlo/emitter.h"

namespace tessera::stablehlo {

// Random numbers are composed of other families' ops.
void add_random_emitters(EmitterTable&) {}

}  // namespace tessera::stablehlo
