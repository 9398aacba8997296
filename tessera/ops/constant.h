#pragma once

#include <memory>

#include "tessera/ir/host_array.h"
#include "tessera/ir/op.h"

namespace tessera {

// Values that need no operands. They are added to the graph that is given, or to that of the value
// which lends its shape.

/// The elements as they are: any dtype, any shape. Meant for small tables; large data belongs in a
/// parameter.
Value constant(Graph& graph, HostArray value);

/// One number everywhere, rounded to the dtype. For integers it must be one of the dtype's values
/// (integers beyond 2^53 need constant()); for bool it must be 0 or 1.
Value full(Graph& graph, Shape shape, double value);
inline Value zeros(Graph& graph, Shape shape) { return full(graph, std::move(shape), 0); }
inline Value ones(Graph& graph, Shape shape) { return full(graph, std::move(shape), 1); }
inline Value scalar(Graph& graph, DType dtype, double value) {
  return full(graph, Shape{dtype, {}}, value);
}

/// Shape and dtype of `x`.
Value full_like(Value x, double value);
inline Value zeros_like(Value x) { return full_like(x, 0); }
inline Value ones_like(Value x) { return full_like(x, 1); }
/// A scalar of x's dtype.
Value scalar_like(Value x, double value);

/// Each element is its own index along `dim`: iota(g, s32[2,3], 1) is [[0,1,2],[0,1,2]]. Integers
/// and floats.
Value iota(Graph& graph, Shape shape, int dim);

struct ConstantAttrs {
  std::shared_ptr<const HostArray> value;
};
struct FullAttrs {
  Shape shape;
  double value = 0;
};
struct IotaAttrs {
  Shape shape;
  int dim = 0;
};

extern const OpDef kConstant;  ///< ConstantAttrs
extern const OpDef kFull;      ///< FullAttrs
extern const OpDef kIota;      ///< IotaAttrs

}  // namespace tessera
