// silu(gate) · up, and its gradient. nn/fused_gate.cc builds the calls.
#include "tessera/kernels/ffi_internal.h"
#include "tessera/kernels/handlers_internal.h"
#include "tessera/kernels/rows.h"
#include "tessera/kernels/workers.h"

namespace tessera {
namespace {

using namespace kernels;
using Any = ffi::AnyBuffer;
using Result = ffi::Result<Any>;

bool alike(const Any& x, const Any& y) {
  return x.element_count() == y.element_count() && x.element_type() == y.element_type();
}

// body(first element, how many), in pieces.
template <typename Body>
void in_pieces(const Any& like, int64_t threads, const Body& body) {
  const RowTasks tasks(static_cast<int64_t>(like.element_count()), 1);
  run_parallel(static_cast<int>(threads), tasks.count(),
               [&](int64_t task) { body(tasks.begin(task), tasks.end(task) - tasks.begin(task)); });
}

ffi::Error forward(Any gate, Any up, Result out, int64_t threads) {
  return guarded([&] {
    check_shapes(alike(gate, up) && alike(gate, *out));
    with_type(dtype_of(gate.element_type()), [&]<typename T>(T*) {
      in_pieces(gate, threads, [&](int64_t first, int64_t n) {
        rows::swiglu(static_cast<const T*>(gate.untyped_data()) + first,
                     static_cast<const T*>(up.untyped_data()) + first,
                     static_cast<T*>(out->untyped_data()) + first, n);
      });
    });
    return ffi::Error::Success();
  });
}

ffi::Error gradient(Any gate, Any up, Any cotangent, Result gate_grad, Result up_grad,
                    int64_t threads) {
  return guarded([&] {
    check_shapes(alike(gate, up) && alike(gate, cotangent) && alike(gate, *gate_grad) &&
                 alike(gate, *up_grad));
    with_type(dtype_of(gate.element_type()), [&]<typename T>(T*) {
      in_pieces(gate, threads, [&](int64_t first, int64_t n) {
        rows::swiglu_gradient(static_cast<const T*>(gate.untyped_data()) + first,
                              static_cast<const T*>(up.untyped_data()) + first,
                              static_cast<const T*>(cotangent.untyped_data()) + first,
                              static_cast<T*>(gate_grad->untyped_data()) + first,
                              static_cast<T*>(up_grad->untyped_data()) + first, n);
      });
    });
    return ffi::Error::Success();
  });
}

XLA_FFI_DEFINE_HANDLER(kForward, forward,
                       ffi::Ffi::Bind().Arg<Any>().Arg<Any>().Ret<Any>().Attr<int64_t>("threads"));
XLA_FFI_DEFINE_HANDLER(
    kGradient, gradient,
    ffi::Ffi::Bind().Arg<Any>().Arg<Any>().Arg<Any>().Ret<Any>().Ret<Any>().Attr<int64_t>(
        "threads"));

}  // namespace

Kernel swiglu_kernel() {
  return {.name = "swiglu",
          .replaces = "silu(gate) * up of gated MLPs, forward and backward",
          .takes = "bf16 and f32; each device its part; not inside a mixture's experts",
          .handlers = {{"tessera.swiglu", reinterpret_cast<void*>(kForward)},
                       {"tessera.swiglu_gradient", reinterpret_cast<void*>(kGradient)}}};
}

}  // namespace tessera
