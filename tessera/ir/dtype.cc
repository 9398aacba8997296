#include "tessera/ir/dtype.h"

#include <array>
#include <string>

namespace tessera {
namespace {

struct DTypeInfo {
  DType dtype;
  std::string_view name;
  int bits;
};

constexpr std::array kInfo = {
    DTypeInfo{DType::kBool, "bool", 1},     DTypeInfo{DType::kS4, "s4", 4},
    DTypeInfo{DType::kS8, "s8", 8},         DTypeInfo{DType::kS16, "s16", 16},
    DTypeInfo{DType::kS32, "s32", 32},      DTypeInfo{DType::kS64, "s64", 64},
    DTypeInfo{DType::kU4, "u4", 4},         DTypeInfo{DType::kU8, "u8", 8},
    DTypeInfo{DType::kU16, "u16", 16},      DTypeInfo{DType::kU32, "u32", 32},
    DTypeInfo{DType::kU64, "u64", 64},      DTypeInfo{DType::kF8E4M3FN, "f8e4m3fn", 8},
    DTypeInfo{DType::kF8E5M2, "f8e5m2", 8}, DTypeInfo{DType::kBF16, "bf16", 16},
    DTypeInfo{DType::kF16, "f16", 16},      DTypeInfo{DType::kF32, "f32", 32},
    DTypeInfo{DType::kF64, "f64", 64},
};

constexpr auto kAll = [] {
  std::array<DType, kInfo.size()> all{};
  for (size_t i = 0; i < kInfo.size(); ++i) all[i] = kInfo[i].dtype;
  return all;
}();

const DTypeInfo& info(DType dtype) { return kInfo[static_cast<size_t>(dtype)]; }

}  // namespace

std::span<const DType> all_dtypes() { return kAll; }

std::string_view dtype_name(DType dtype) { return info(dtype).name; }

Result<DType> parse_dtype(std::string_view name) {
  std::string known;
  for (const DTypeInfo& candidate : kInfo) {
    if (candidate.name == name) return candidate.dtype;
    str_append(&known, known.empty() ? "" : ", ", candidate.name);
  }
  return invalid_argument("unknown dtype '", name, "'; known are ", known);
}

int dtype_bits(DType dtype) { return info(dtype).bits; }

int dtype_host_bytes(DType dtype) { return (info(dtype).bits + 7) / 8; }

bool is_floating(DType dtype) { return dtype >= DType::kF8E4M3FN; }
bool is_integer(DType dtype) { return dtype >= DType::kS4 && dtype <= DType::kU64; }
bool is_signed_integer(DType dtype) { return dtype >= DType::kS4 && dtype <= DType::kS64; }

}  // namespace tessera
