#include "tessera/stablehlo/emitter.h"

namespace tessera::stablehlo {

const EmitterTable& emitters() {
  static const EmitterTable* const kTable = [] {
    auto* table =
        new EmitterTable;  // never destroyed: programs may be printed while the process ends
    add_constant_emitters(*table);
    add_control_emitters(*table);
    add_elementwise_emitters(*table);
    add_indexing_emitters(*table);
    add_linear_emitters(*table);
    add_random_emitters(*table);
    add_reduce_emitters(*table);
    add_shape_emitters(*table);
    add_sharding_emitters(*table);
    add_sort_emitters(*table);
    return table;
  }();
  return *kTable;
}

}  // namespace tessera::stablehlo
