#include "tessera/ops/registry.h"

namespace tessera {

std::vector<const OpDef*> all_ops() {
  std::vector<const OpDef*> all;
  for (auto family :
       {constant_ops(), control_ops(), elementwise_ops(), indexing_ops(), linear_ops(),
        random_ops(), reduce_ops(), shape_ops(), sharding_ops(), sort_ops()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  return all;
}

}  // namespace tessera
