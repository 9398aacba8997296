#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include "tessera/ir/op.h"

namespace tessera {

// Products of tensors. All of them end in dot_general, the one op of this family, whose gradient is
// written in dot_general and transpose.

/// How exactly a device multiplies f32: kDefault lets it use its fast units (TF32, bf16 passes);
/// the CPU is exact always.
enum class Precision : uint8_t { kDefault, kHigh, kHighest };

struct DotOptions {
  /// Of the result, which is also the dtype that the sum is at least kept in. Unset: the operands'.
  /// bf16 operands give bf16, or f32 with `.dtype = DType::kF32`.
  std::optional<DType> dtype;
  Precision precision = Precision::kDefault;
};

/// Which dims pair up: lhs_batch[i] with rhs_batch[i], lhs_contract[i] with rhs_contract[i].
/// Negative ones count from the end.
struct DotDims {
  Dims lhs_batch;
  Dims rhs_batch;
  Dims lhs_contract;
  Dims rhs_contract;
};

/// What a dot_general node carries: dims not negative, dtype and precision resolved.
struct DotAttrs {
  DotDims dims;
  DType dtype;
  Precision precision;
};

extern const OpDef kDotGeneral;

/// Multiplies and sums over the contracted dims, separately for each index of the batch dims.
/// lhs: [batch.., lhs free.., contract..] in any order, rhs alike
///   → [batch.. (in the order of lhs_batch), lhs free.., rhs free..].
/// Both operands have one dtype (two different f8 formats may meet). The gradient multiplies in the
/// operands' dtype, that is, a cotangent in f32 of bf16 operands is rounded to bf16 first.
Value dot_general(Value lhs, Value rhs, DotDims dims, const DotOptions& options = {});

/// NumPy's matmul: [..,M,K] @ [..,K,N] → [..,M,N], leading dims broadcast; a vector on the left is
/// a row, on the right a column, and that dim vanishes: [K] @ [K,N] → [N], [..,M,K] @ [K] → [..,M].
/// One dot_general, and a transpose only where broadcasting asks for it: x[..,K] @ w[K,N] has none.
Value matmul(Value x, Value w, const DotOptions& options = {});

/// Sums of products by letters: einsum("btd,df->btf", {x, w}).
///
/// Every dim of an operand has a letter (a-z, A-Z); a letter has one size wherever it stands; those
/// absent after `->` are summed. One letter twice in an operand takes its diagonal. `...` stands
/// for leading dims that broadcast as NumPy's. Spaces are ignored; the arrow is required.
/// Two operands become one dot_general and at most one transpose (after sums of letters that only
/// one of them has); more are multiplied pair by pair, the cheapest first.
Value einsum(std::string_view equation, std::span<const Value> operands,
             const DotOptions& options = {});
Value einsum(std::string_view equation, std::initializer_list<Value> operands,
             const DotOptions& options = {});

}  // namespace tessera
