#pragma once

#include <span>
#include <vector>

#include "tessera/ops/control.h"

namespace tessera {

// Shared by the gradient rules of ops with bodies.

/// The cotangents of a node's floating outputs, zeros where none arrived. Others carry no gradient.
std::vector<Value> floating_cotangents(const Vjp& v);
/// The floating ones among `values`, in their order.
std::vector<Value> only_floating(std::span<const Value> values);
std::vector<Shape> shapes_of(std::span<const Value> values);
/// Shapes of a body's outputs.
std::vector<Shape> output_shapes(const Graph& body);
/// Throws unless the body's parameters have the shapes of what it gets.
void require_parameters(const Graph& body, std::span<const Shape> operands);

/// Adds an op whose body is printed in place: operands are the arguments, then the captures.
std::vector<Value> add_inlined(const OpDef& op, const Branch& f, std::span<const Value> args,
                               std::any attrs);
/// The shape rule of such ops.
std::vector<Shape> infer_inlined(const InferContext& context);

}  // namespace tessera
