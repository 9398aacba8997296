#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "tessera/base/status.h"

namespace tessera {

/// What an element is. The names that people and StableHLO use stand in dtype.cc.
enum class DType : uint8_t {
  kBool,
  kS4,
  kS8,
  kS16,
  kS32,
  kS64,
  kU4,
  kU8,
  kU16,
  kU32,
  kU64,
  kF8E4M3FN,
  kF8E5M2,
  kBF16,
  kF16,
  kF32,
  kF64,
};

/// Every dtype, in the order of the enumeration.
std::span<const DType> all_dtypes();

/// "f32", "bf16", "s32", "u4", "bool", "f8e4m3fn": what configs, errors and checkpoints' manifests
/// say.
std::string_view dtype_name(DType dtype);

/// The inverse of dtype_name; an error lists the names there are.
Result<DType> parse_dtype(std::string_view name);

/// Bits of one element: 1 for bool, although a bool is stored in a byte.
int dtype_bits(DType dtype);

/// Bytes of one element as the host holds it. Four-bit integers take a whole byte each on the host.
int dtype_host_bytes(DType dtype);

bool is_floating(DType dtype);
/// Signed or unsigned; bool is none.
bool is_integer(DType dtype);
bool is_signed_integer(DType dtype);
inline bool is_bool(DType dtype) { return dtype == DType::kBool; }

}  // namespace tessera
