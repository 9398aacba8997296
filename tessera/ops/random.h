#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/ir/op.h"

namespace tessera {

// Random numbers as a pure function of a key: Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror,
// Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011) applied to each element's index in
// the whole array, in ordinary integer ops. So a program gives the same bits on any mesh, device
// and plugin. Composed of other ops: this family has none of its own.
//
// Keys, split, fold_in, bits, uniform, normal, randint and so on derive as jax.random does in its
// default mode (threefry2x32, jax_threefry_partitionable=True): bits are equal, floats too where
// the device's maths is. Unlike there, normal, truncated_normal and gumbel of less than 32 bits are
// drawn in f32 and rounded, since their own few bits would give few distinct values.
//
// Use a key once: two draws from one key are the same numbers. split or fold_in give more.

/// A key that is known now, from a seed: the counterpart of jax.random.key. → u32[2]
Value random_key(Graph& graph, uint64_t seed);
/// n independent keys. key: u32[2] → n × u32[2]
std::vector<Value> split(Value key, int n = 2);
/// A new key from a key and a number, such as a step or a layer. data: an integer scalar, of which
/// the low 32 bits count. key: u32[2] → u32[2]
Value fold_in(Value key, Value data);
Value fold_in(Value key, uint32_t data);

/// Uniform bits. dtype is u8, u16, u32 or u64. key: u32[2] → dtype[dims..]
Value random_bits(Value key, std::span<const int64_t> dims, DType dtype = DType::kU32);
/// Uniform in [lo, hi), in steps of the width times 2^-23 (f64: 2^-52, f16: 2^-10, bf16: 2^-7).
Value uniform(Value key, const Shape& shape, double lo = 0, double hi = 1);
/// The standard normal: √2·erf⁻¹(u), u uniform in (-1, 1). With 23 bits of u its tails end at ±5.4
/// (f64: ±8.2).
Value normal(Value key, const Shape& shape);
/// The standard normal, given that it lies in (lo, hi); not scaled to unit variance.
Value truncated_normal(Value key, const Shape& shape, double lo = -2, double hi = 2);
/// true with probability p, drawn in f32: a dropout mask keeps where bernoulli(1 - rate).
Value bernoulli(Value key, double p, std::span<const int64_t> dims);
/// An integer in [lo, hi), for s32, s64, u32 or u64: 64 random bits modulo hi - lo, whose bias is
/// below (hi - lo) · 2^-64. As jax.random's for 32 bits and hi - lo ≤ 2^16; bounds reach to ±2^53.
Value randint(Value key, const Shape& shape, int64_t lo, int64_t hi);
/// The standard Gumbel: -log(-log(u)).
Value gumbel(Value key, const Shape& shape);
/// An index along the last dim with probability softmax(logits), by the Gumbel maximum.
/// logits: f32[..,N] → s32[..]
Value categorical(Value key, Value logits);
/// The inverse of erf on (-1, 1), ±inf at ±1 (Giles: "Approximating the erfinv function", 2010). In
/// f32 as XLA computes it: within 6 ulp where |x| < 0.999, 64 ulp towards the ends. In f64 within
/// 2e-14, less towards the ends: 2e-11 at 1 - 2^-23. f32 or f64 → the same shape.
Value erf_inv(Value x);

/// The block function: x, y and key are u32 of one shape or scalars; the two words come back.
struct ThreefryWords {
  Value x;
  Value y;
};
ThreefryWords threefry2x32(Value key0, Value key1, Value x, Value y);

}  // namespace tessera
