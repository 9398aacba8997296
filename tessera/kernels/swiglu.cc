// silu(gate) · up, or gelu(gate) · up, and its gradient. nn/fused_gate.cc builds the calls.
#include "tessera/kernels/ffi_internal.h"
#include "tessera/kernels/handlers_internal.h"
#include "tessera/kernels/rows.h"
#include "tessera/kernels/workers.h"

namespace tessera {
namespace {

using namespace kernels;
using Any = ffi::AnyBuffer;
using Result = ffi::Result<Any>;

rows::Gate gate_of(int64_t number) {
  if (number != 0 && number != 1) throw std::invalid_argument("a gate of another version");
  return static_cast<rows::Gate>(number);
}

// The width F of `both` [..,2,F], whose half must be as large as `half` [..,F].
int64_t width_of(const Any& both, const Any& half) {
  const auto dims = both.dimensions();
  check_shapes(dims.size() >= 2 && dims[dims.size() - 2] == 2 &&
               both.element_count() == 2 * half.element_count() &&
               both.element_type() == half.element_type());
  return dims.back();
}

// body(row), in pieces.
template <typename Body>
void for_rows(const Any& half, int64_t width, int64_t threads, const Body& body) {
  if (width == 0) return;
  const RowTasks tasks(static_cast<int64_t>(half.element_count()) / width, width);
  run_parallel(static_cast<int>(threads), tasks.count(), [&](int64_t task) {
    for (int64_t row = tasks.begin(task); row < tasks.end(task); ++row) body(row);
  });
}

ffi::Error forward(Any both, Result out, int64_t gate, int64_t threads) {
  return guarded([&] {
    const rows::Gate kind = gate_of(gate);
    const int64_t width = width_of(both, *out);
    with_type(dtype_of(both.element_type()), [&]<typename T>(T*) {
      for_rows(*out, width, threads, [&](int64_t row) {
        rows::gated(kind, static_cast<const T*>(both.untyped_data()) + row * 2 * width,
                    static_cast<T*>(out->untyped_data()) + row * width, width);
      });
    });
    return ffi::Error::Success();
  });
}

ffi::Error gradient(Any both, Any cotangent, Result both_grad, int64_t gate, int64_t threads) {
  return guarded([&] {
    const rows::Gate kind = gate_of(gate);
    const int64_t width = width_of(both, cotangent);
    check_shapes(width_of(*both_grad, cotangent) == width);
    with_type(dtype_of(both.element_type()), [&]<typename T>(T*) {
      for_rows(cotangent, width, threads, [&](int64_t row) {
        rows::gated_gradient(kind, static_cast<const T*>(both.untyped_data()) + row * 2 * width,
                             static_cast<const T*>(cotangent.untyped_data()) + row * width,
                             static_cast<T*>(both_grad->untyped_data()) + row * 2 * width, width);
      });
    });
    return ffi::Error::Success();
  });
}

XLA_FFI_DEFINE_HANDLER(
    kForward, forward,
    ffi::Ffi::Bind().Arg<Any>().Ret<Any>().Attr<int64_t>("gate").Attr<int64_t>("threads"));
XLA_FFI_DEFINE_HANDLER(
    kGradient, gradient,
    ffi::Ffi::Bind().Arg<Any>().Arg<Any>().Ret<Any>().Attr<int64_t>("gate").Attr<int64_t>(
        "threads"));

}  // namespace

Kernel swiglu_kernel() {
  return {.name = "swiglu",
          .replaces = "silu(gate) * up and gelu(gate) * up of gated MLPs, forward and backward",
          .takes = "bf16 and f32, gate and up of one product; each device its part",
          .handlers = {{"tessera.swiglu", reinterpret_cast<void*>(kForward)},
                       {"tessera.swiglu_gradient", reinterpret_cast<void*>(kGradient)}}};
}

}  // namespace tessera
