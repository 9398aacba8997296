#include "tessera/ops/constant.h"

#include <cmath>

#include "tessera/ops/dims.h"
#include "tessera/ops/registry.h"

namespace tessera {
namespace {

constexpr std::string_view kNoOperands = "a constant does not depend on anything";

// The least and the greatest integer of the dtype, as doubles; the greatest 64-bit ones round up,
// hence the strict comparison with one more.
bool integer_fits(DType dtype, double value) {
  if (value != std::trunc(value)) return false;
  const int bits = dtype_bits(dtype);
  if (is_signed_integer(dtype)) {
    return value >= -std::ldexp(1.0, bits - 1) && value < std::ldexp(1.0, bits - 1);
  }
  return value >= 0 && value < std::ldexp(1.0, bits);
}

void check_representable(DType dtype, double value) {
  if (is_floating(dtype)) return;
  if (is_bool(dtype)) {
    if (value != 0 && value != 1) fail("a bool is 0 or 1, got ", value);
    return;
  }
  if (!integer_fits(dtype, value)) {
    fail(value, " is not a value of ", dtype_name(dtype),
         ": use a whole number in its range, or a floating dtype");
  }
}

void check_sizes(const Shape& shape) {
  for (int64_t dim : shape.dims) {
    if (dim < 0) fail("sizes must not be negative, got ", to_string(shape));
  }
}

std::vector<Shape> infer_full(const InferContext& c) {
  const auto& attrs = c.attr<FullAttrs>();
  check_sizes(attrs.shape);
  check_representable(attrs.shape.dtype, attrs.value);
  return {attrs.shape};
}

std::vector<Shape> infer_iota(const InferContext& c) {
  const auto& attrs = c.attr<IotaAttrs>();
  check_sizes(attrs.shape);
  if (is_bool(attrs.shape.dtype)) fail("bool cannot count: use an integer or floating dtype");
  if (attrs.dim < 0 || attrs.dim >= attrs.shape.rank()) {
    fail("dim ", attrs.dim, " is out of range for the result ", to_string(attrs.shape));
  }
  return {attrs.shape};
}

}  // namespace

const OpDef kConstant = {.name = "constant",
                         .infer = [](const InferContext& c) -> std::vector<Shape> {
                           return {c.attr<ConstantAttrs>().value->shape()};
                         },
                         .no_gradient = kNoOperands,
                         .zero_gradient = true};
const OpDef kFull = {
    .name = "full", .infer = infer_full, .no_gradient = kNoOperands, .zero_gradient = true};
const OpDef kIota = {
    .name = "iota", .infer = infer_iota, .no_gradient = kNoOperands, .zero_gradient = true};

Value constant(Graph& graph, HostArray value) {
  return graph.add(kConstant, {}, ConstantAttrs{std::make_shared<HostArray>(std::move(value))})[0];
}

Value full(Graph& graph, Shape shape, double value) {
  return graph.add(kFull, {}, FullAttrs{std::move(shape), value})[0];
}

Value full_like(Value x, double value) {
  if (!x.defined()) fail_at("full", x, "");
  return full(x.graph(), x.shape(), value);
}

Value scalar_like(Value x, double value) {
  if (!x.defined()) fail_at("full", x, "");
  return scalar(x.graph(), x.dtype(), value);
}

Value iota(Graph& graph, Shape shape, int dim) {
  if (dim < 0) dim += shape.rank();
  return graph.add(kIota, {}, IotaAttrs{std::move(shape), dim})[0];
}

std::span<const OpDef* const> constant_ops() {
  static constexpr const OpDef* kOps[] = {&kConstant, &kFull, &kIota};
  return kOps;
}

}  // namespace tessera
