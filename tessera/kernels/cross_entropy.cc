// A token's log(sum(exp(logits))) and target logit, and the logits' gradient. nn/fused_loss.cc
// builds the calls.
#include "tessera/kernels/ffi_internal.h"
#include "tessera/kernels/handlers_internal.h"
#include "tessera/kernels/rows.h"
#include "tessera/kernels/workers.h"

namespace tessera {
namespace {

using namespace kernels;
using Any = ffi::AnyBuffer;
using Floats = ffi::Buffer<ffi::F32>;
using Targets = ffi::Buffer<ffi::S32>;

// Classes of a row.
int64_t classes_of(const Any& logits, const Targets& targets) {
  check_shapes(targets.element_count() > 0 &&
               logits.element_count() % targets.element_count() == 0);
  return static_cast<int64_t>(logits.element_count() / targets.element_count());
}

ffi::Error forward(Any logits, Targets targets, ffi::Result<Floats> log_z,
                   ffi::Result<Floats> target, int64_t threads) {
  return guarded([&] {
    const int64_t n = classes_of(logits, targets);
    const auto count = static_cast<int64_t>(targets.element_count());
    check_shapes(static_cast<int64_t>(log_z->element_count()) == count &&
                 static_cast<int64_t>(target->element_count()) == count);
    const RowTasks tasks(count, n);
    with_type(dtype_of(logits.element_type()), [&]<typename T>(T*) {
      run_parallel(static_cast<int>(threads), tasks.count(), [&](int64_t task) {
        for (int64_t row = tasks.begin(task); row < tasks.end(task); ++row) {
          const T* line = static_cast<const T*>(logits.untyped_data()) + row * n;
          const int32_t wanted = targets.typed_data()[row];
          log_z->typed_data()[row] = rows::log_sum_exp(line, n);
          target->typed_data()[row] = wanted >= 0 && wanted < n ? rows::value_at(line, wanted) : 0;
        }
      });
    });
    return ffi::Error::Success();
  });
}

ffi::Error gradient(Any logits, Targets targets, Floats log_z, Floats of_log_z, Floats of_target,
                    ffi::Result<Any> grad, int64_t threads) {
  return guarded([&] {
    const int64_t n = classes_of(logits, targets);
    const auto count = static_cast<int64_t>(targets.element_count());
    for (const Floats& each : {log_z, of_log_z, of_target})
      check_shapes(static_cast<int64_t>(each.element_count()) == count);
    check_shapes(grad->element_count() == logits.element_count() &&
                 grad->element_type() == logits.element_type());
    const RowTasks tasks(count, n);
    with_type(dtype_of(logits.element_type()), [&]<typename T>(T*) {
      run_parallel(static_cast<int>(threads), tasks.count(), [&](int64_t task) {
        for (int64_t row = tasks.begin(task); row < tasks.end(task); ++row) {
          rows::token_gradient({.log_sum = log_z.typed_data()[row],
                                .of_log_sum = of_log_z.typed_data()[row],
                                .of_target = of_target.typed_data()[row],
                                .target = targets.typed_data()[row]},
                               static_cast<const T*>(logits.untyped_data()) + row * n,
                               static_cast<T*>(grad->untyped_data()) + row * n, n);
        }
      });
    });
    return ffi::Error::Success();
  });
}

XLA_FFI_DEFINE_HANDLER(
    kForward, forward,
    ffi::Ffi::Bind().Arg<Any>().Arg<Targets>().Ret<Floats>().Ret<Floats>().Attr<int64_t>(
        "threads"));
XLA_FFI_DEFINE_HANDLER(kGradient, gradient,
                       ffi::Ffi::Bind()
                           .Arg<Any>()
                           .Arg<Targets>()
                           .Arg<Floats>()
                           .Arg<Floats>()
                           .Arg<Floats>()
                           .Ret<Any>()
                           .Attr<int64_t>("threads"));

}  // namespace

Kernel cross_entropy_kernel() {
  return {.name = "cross_entropy",
          .replaces = "log(Z) and the target's logit of each token, forward and backward",
          .takes = "bf16 and f32; each device its tokens, with the whole vocabulary",
          .handlers = {{"tessera.cross_entropy", reinterpret_cast<void*>(kForward)},
                       {"tessera.cross_entropy_gradient", reinterpret_cast<void*>(kGradient)}}};
}

}  // namespace tessera
