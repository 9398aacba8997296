#pragma once

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "tessera/ir/graph.h"

namespace tessera {

/// Reverse-mode gradients, added to the graph that holds `ys`. For each x the sum over i of
/// (dy_i/dx) applied to cotangents[i]; zeros where no y depends on x. Each x is a leaf: what flows
/// back to it goes no further. cotangents[i] has the shape and dtype of ys[i]. The result can be
/// differentiated again. Inside the body of a region, an x may be a value from outside; what else
/// from outside lies between it and the ys is then computed again in the body. Throws TraceError
/// when a path crosses an op without gradient, or an x is not floating.
std::vector<Value> gradients(std::span<const Value> ys, std::span<const Value> cotangents,
                             std::span<const Value> xs);

/// The same for one scalar y, with cotangent 1.
std::vector<Value> gradients(Value y, std::span<const Value> xs);

/// A function of values, as grad() takes it: the result must be a scalar.
using ScalarFn = std::function<Value(std::span<const Value>)>;
using ManyFn = std::function<std::vector<Value>(std::span<const Value>)>;

/// x ↦ df/dx, one for each argument.
ManyFn grad(ScalarFn f);
/// x ↦ (f(x), df/dx).
std::function<std::pair<Value, std::vector<Value>>(std::span<const Value>)> value_and_grad(
    ScalarFn f);

}  // namespace tessera
