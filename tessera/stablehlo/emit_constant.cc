#include "tessera/ops/constant.h"
#include "tessera/stablehlo/emit_parts.h"
#include "tessera/stablehlo/emitter.h"

namespace tessera::stablehlo {
namespace {

// Above this many elements a constant is printed as the bytes of its elements, which is shorter and
// faster to read.
constexpr int64_t kMaxListed = 64;

std::string element_literal(const HostArray& array, const std::vector<double>& values, int64_t i) {
  // A double does not hold every 64-bit integer.
  if (array.shape().dtype == DType::kS64) return str_cat(array.as<int64_t>()[i]);
  if (array.shape().dtype == DType::kU64) return str_cat(array.as<uint64_t>()[i]);
  return mlir_literal(array.shape().dtype, values[i]);
}

/// "[[1, 2], [3, 4]]": nested as the dimensions are.
class NestedList {
 public:
  explicit NestedList(const HostArray& array) : array_(array), values_(to_doubles(array)) {
    append(0);
  }
  std::string take() { return std::move(text_); }

 private:
  void append(int dim) {
    if (dim == array_.shape().rank()) {
      text_ += element_literal(array_, values_, next_++);
      return;
    }
    text_ += "[";
    for (int64_t i = 0; i < array_.shape().dims[dim]; ++i) {
      if (i > 0) text_ += ", ";
      append(dim + 1);
    }
    text_ += "]";
  }

  const HostArray& array_;
  std::vector<double> values_;
  int64_t next_ = 0;
  std::string text_;
};

std::string hex_bytes(const HostArray& array) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string text = "\"0x";
  text.reserve(text.size() + 2 * array.bytes().size() + 1);
  for (std::byte byte : array.bytes()) {
    text += kDigits[std::to_integer<int>(byte) >> 4];
    text += kDigits[std::to_integer<int>(byte) & 15];
  }
  return text + "\"";
}

std::string elements(const HostArray& array) {
  const int64_t count = array.shape().elements();
  if (count == 0) return "";
  // MLIR packs bools and 4-bit integers in its bytes, the host does not.
  const bool whole_bytes = dtype_bits(array.shape().dtype) >= 8;
  return count > kMaxListed && whole_bytes ? hex_bytes(array) : NestedList(array).take();
}

void emit_constant(Emitter& e, const EmitNode& n) {
  const HostArray& value = *n.attr<ConstantAttrs>().value;
  e.line(e.bind_results(n), " = stablehlo.constant dense<", elements(value),
         "> : ", mlir_type(value.shape()));
}

// As a scalar that is broadcast, and not as a tensor of equal elements, which would be held in
// full.
void emit_full(Emitter& e, const EmitNode& n) {
  const auto& [shape, value] = n.attr<FullAttrs>();
  const std::string scalar = emit_literal(e, shape.dtype, mlir_literal(shape.dtype, value));
  e.bind(n.graph, {n.index, 0}, emit_splat(e, scalar, shape));
}

void emit_iota(Emitter& e, const EmitNode& n) {
  const auto& [shape, dim] = n.attr<IotaAttrs>();
  e.line(e.bind_results(n), " = stablehlo.iota dim = ", dim, " : ", mlir_type(shape));
}

}  // namespace

void add_constant_emitters(EmitterTable& table) {
  table[&kConstant] = emit_constant;
  table[&kFull] = emit_full;
  table[&kIota] = emit_iota;
}

}  // namespace tessera::stablehlo
