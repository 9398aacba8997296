// Causal attention, forward and backward. nn/fused_attention.cc builds the calls.
#include <algorithm>

#include "tessera/kernels/attention_core.h"
#include "tessera/kernels/ffi_internal.h"
#include "tessera/kernels/handlers_internal.h"

namespace tessera {
namespace {

using namespace kernels;
using Floats = ffi::Buffer<ffi::F32>;
using Integers = ffi::Buffer<ffi::S32>;

/// The operands that both directions have behind q, k and v: who sees whom, and the angles that
/// queries and keys are turned by, empty where they are not.
struct Sequence {
  Integers places_t, places_s, segments_t, segments_s;
  Floats cos_t, sin_t, cos_s, sin_s;
};
/// How scores are made: ScoreRule of nn/attention.h.
struct Rule {
  int64_t window;
  double soft_cap;
};

RotaryAngles angles_of(const Floats& cos, const Floats& sin, int64_t batch, int64_t rows,
                       int64_t width) {
  const auto size = static_cast<int64_t>(cos.element_count());
  if (size == 0) return {};
  const int64_t one = rows * width / 2;
  check_shapes(width % 2 == 0 && sin.element_count() == cos.element_count() &&
               (size == one || size == batch * one));
  return {cos.typed_data(), sin.typed_data(), size == one ? 0 : one};
}

// Throws std::invalid_argument where the shapes do not fit each other.
AttentionProblem problem_of(const ffi::AnyBuffer& q, const ffi::AnyBuffer& k,
                            const ffi::AnyBuffer& v, const Sequence& sequence, const Rule& rule) {
  const auto qd = q.dimensions(), kd = k.dimensions(), vd = v.dimensions();
  check_shapes(qd.size() == 4 && kd.size() == 4 && vd.size() == 4);
  const DType dtype = dtype_of(q.element_type());
  check_shapes(dtype == DType::kBF16 || dtype == DType::kF32);
  check_shapes(dtype_of(k.element_type()) == dtype && dtype_of(v.element_type()) == dtype);
  check_shapes(kd[0] == qd[0] && kd[3] == qd[3] && kd[2] > 0 && qd[2] % kd[2] == 0);
  for (int dim = 0; dim < 4; ++dim) check_shapes(vd[dim] == kd[dim]);
  const auto holds = [](const Integers& values, int64_t count) {
    return static_cast<int64_t>(values.element_count()) == count;
  };
  check_shapes(holds(sequence.places_t, qd[1]) && holds(sequence.places_s, kd[1]));
  check_shapes(holds(sequence.segments_t, qd[0] * qd[1]) &&
               holds(sequence.segments_s, kd[0] * kd[1]));
  return {.b = qd[0],
          .t = qd[1],
          .s = kd[1],
          .h = qd[2],
          .k = kd[2],
          .c = qd[3],
          .dtype = dtype,
          .places_t = sequence.places_t.typed_data(),
          .places_s = sequence.places_s.typed_data(),
          .segments_bt = sequence.segments_t.typed_data(),
          .segments_bs = sequence.segments_s.typed_data(),
          .window = rule.window > 0
                        ? static_cast<int32_t>(std::min<int64_t>(rule.window, INT32_MAX))
                        : INT32_MAX,
          .soft_cap = static_cast<float>(rule.soft_cap),
          .rotary_t = angles_of(sequence.cos_t, sequence.sin_t, qd[0], qd[1], qd[3]),
          .rotary_s = angles_of(sequence.cos_s, sequence.sin_s, qd[0], kd[1], qd[3])};
}

ffi::Error forward(ffi::AnyBuffer q, ffi::AnyBuffer k, ffi::AnyBuffer v, Integers places_t,
                   Integers places_s, Integers segments_t, Integers segments_s, Floats cos_t,
                   Floats sin_t, Floats cos_s, Floats sin_s, ffi::Result<ffi::AnyBuffer> out,
                   ffi::Result<Floats> log_sums, int64_t window, double soft_cap, int64_t threads) {
  return guarded([&] {
    const auto problem = problem_of(
        q, k, v, {places_t, places_s, segments_t, segments_s, cos_t, sin_t, cos_s, sin_s},
        {window, soft_cap});
    if (out->element_count() != q.element_count() ||
        static_cast<int64_t>(log_sums->element_count()) != problem.b * problem.h * problem.t)
      return ffi::Error::InvalidArgument("tessera.attention_forward: results of other shapes");
    attention_forward(problem, static_cast<int>(threads), q.untyped_data(), k.untyped_data(),
                      v.untyped_data(), out->untyped_data(), log_sums->typed_data());
    return ffi::Error::Success();
  });
}

ffi::Error backward(ffi::AnyBuffer q, ffi::AnyBuffer k, ffi::AnyBuffer v, Integers places_t,
                    Integers places_s, Integers segments_t, Integers segments_s, Floats cos_t,
                    Floats sin_t, Floats cos_s, Floats sin_s, ffi::AnyBuffer out, Floats log_sums,
                    ffi::AnyBuffer cotangent, ffi::Result<ffi::AnyBuffer> q_grad,
                    ffi::Result<ffi::AnyBuffer> k_grad, ffi::Result<ffi::AnyBuffer> v_grad,
                    int64_t window, double soft_cap, int64_t threads) {
  return guarded([&] {
    const auto problem = problem_of(
        q, k, v, {places_t, places_s, segments_t, segments_s, cos_t, sin_t, cos_s, sin_s},
        {window, soft_cap});
    if (out.element_count() != q.element_count() ||
        cotangent.element_count() != q.element_count() ||
        q_grad->element_count() != q.element_count() ||
        k_grad->element_count() != k.element_count() ||
        v_grad->element_count() != v.element_count() ||
        static_cast<int64_t>(log_sums.element_count()) != problem.b * problem.h * problem.t)
      return ffi::Error::InvalidArgument("tessera.attention_backward: shapes do not fit");
    attention_backward(problem, static_cast<int>(threads),
                       {.q = q.untyped_data(),
                        .k = k.untyped_data(),
                        .v = v.untyped_data(),
                        .out = out.untyped_data(),
                        .log_sums = log_sums.typed_data(),
                        .cotangent = cotangent.untyped_data(),
                        .q_grad = q_grad->untyped_data(),
                        .k_grad = k_grad->untyped_data(),
                        .v_grad = v_grad->untyped_data()});
    return ffi::Error::Success();
  });
}

// What both directions begin with: q, k, v, places, segments, angles.
auto bind_operands() {
  return ffi::Ffi::Bind()
      .Arg<ffi::AnyBuffer>()
      .Arg<ffi::AnyBuffer>()
      .Arg<ffi::AnyBuffer>()
      .Arg<Integers>()
      .Arg<Integers>()
      .Arg<Integers>()
      .Arg<Integers>()
      .Arg<Floats>()
      .Arg<Floats>()
      .Arg<Floats>()
      .Arg<Floats>();
}

XLA_FFI_DEFINE_HANDLER(kForward, forward,
                       bind_operands()
                           .Ret<ffi::AnyBuffer>()
                           .Ret<Floats>()
                           .Attr<int64_t>("window")
                           .Attr<double>("soft_cap")
                           .Attr<int64_t>("threads"));
XLA_FFI_DEFINE_HANDLER(kBackward, backward,
                       bind_operands()
                           .Arg<ffi::AnyBuffer>()
                           .Arg<Floats>()
                           .Arg<ffi::AnyBuffer>()
                           .Ret<ffi::AnyBuffer>()
                           .Ret<ffi::AnyBuffer>()
                           .Ret<ffi::AnyBuffer>()
                           .Attr<int64_t>("window")
                           .Attr<double>("soft_cap")
                           .Attr<int64_t>("threads"));

}  // namespace

Kernel attention_kernel() {
  return {.name = "attention",
          .replaces = "causal attention, forward and backward, without the matrix of all scores",
          .takes =
              "bf16 and f32, grouped heads, rotary positions, segments, a sliding window, a soft "
              "cap, any length; each device its rows, heads "
              "and queries; not a ring's",
          .handlers = {{"tessera.attention_forward", reinterpret_cast<void*>(kForward)},
                       {"tessera.attention_backward", reinterpret_cast<void*>(kBackward)}}};
}

}  // namespace tessera
