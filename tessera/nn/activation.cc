#include "tessera/nn/activation.h"

#include "tessera/ops/elementwise.h"

namespace tessera {

Value activate(Value x, Activation activation) {
  return activation == Activation::kSilu ? silu(x) : gelu(x, /*approximate=*/true);
}

}  // namespace tessera
