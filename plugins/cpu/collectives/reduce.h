#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tessera::pjrt_cpu {

/// Element types that can be reduced.
enum class Element : uint8_t {
  kPred,
  kS8,
  kS16,
  kS32,
  kS64,
  kU8,
  kU16,
  kU32,
  kU64,
  kF16,
  kBF16,
  kF32,
  kF64,
  kC64,
  kC128,
};
/// And and or are of bits, of truth values for kPred; they, min and max do not exist for complex
/// numbers, nor and and or for floating-point ones. Min and max of a NaN are NaN.
enum class Reduction : uint8_t { kSum, kProduct, kMin, kMax, kAnd, kOr };

size_t bytes_of(Element element);

/// output[i] = inputs[0][i] (op) inputs[1][i] (op) ..., from left to right; f16 and bf16 in f32,
/// rounded once at the end. The output may be one of the inputs. Throws Failure, INVALID_ARGUMENT,
/// where the element type has no such operation.
void reduce(Element element, Reduction reduction, std::span<const void* const> inputs, void* output,
            size_t count);

}  // namespace tessera::pjrt_cpu
