#include "tessera/nn/dropout.h"

#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/indexing.h"
#include "tessera/ops/random.h"

namespace tessera {
namespace {

constexpr const char* kLayerIndex = "layer_index";

}  // namespace

Dropout Dropout::with_key(Value next) const {
  Dropout dropout = *this;
  dropout.key = next;
  return dropout;
}

Dropout Dropout::at(Value place) const { return active() ? with_key(fold_in(key, place)) : *this; }

Dropout Dropout::at(uint32_t place) const {
  return active() ? with_key(fold_in(key, place)) : *this;
}

Value dropout(Value x, const Dropout& dropout) {
  if (!dropout.active()) return x;
  Value kept = bernoulli(dropout.key, 1 - dropout.rate, x.dims());
  if (dropout.order_T.defined()) kept = take(kept, dropout.order_T, 1);
  return select(kept, x * (1 / (1 - dropout.rate)), 0.0);
}

Tree<Value> with_layer_index(Tree<Value> stacked, const Dropout& dropout) {
  if (!dropout.active()) return stacked;
  const Value any = stacked[0].second;
  const Value index = iota(any.graph(), Shape{DType::kS32, {any.dim(0)}}, 0);
  CHECK(stacked.add(kLayerIndex, index).ok());
  return stacked;
}

Dropout of_layer(const Dropout& dropout, const Tree<Value>& params) {
  return dropout.active() ? dropout.at(params.at(kLayerIndex)) : dropout;
}

}  // namespace tessera
