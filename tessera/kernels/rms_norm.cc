// RMSNorm over the last dim, with the addition before it, and its gradient. nn/fused_norm.cc builds
// the calls.
#include <cstring>

#include "tessera/kernels/ffi_internal.h"
#include "tessera/kernels/handlers_internal.h"
#include "tessera/kernels/product.h"
#include "tessera/kernels/rows.h"
#include "tessera/kernels/workers.h"

namespace tessera {
namespace {

using namespace kernels;
using Any = ffi::AnyBuffer;
using Result = ffi::Result<Any>;

int64_t row_size(const Any& scale) { return static_cast<int64_t>(scale.element_count()); }

bool alike(const Any& x, const Any& y) {
  return x.element_count() == y.element_count() && x.element_type() == y.element_type();
}

void check_rows(const Any& x, const Any& scale) {
  check_shapes(scale.element_type() == x.element_type() && scale.element_count() > 0 &&
               x.element_count() % scale.element_count() == 0);
}

template <typename T>
const T* at(const Any& buffer, int64_t element) {
  return static_cast<const T*>(buffer.untyped_data()) + element;
}
template <typename T>
T* at(Result& buffer, int64_t element) {
  return static_cast<T*>(buffer->untyped_data()) + element;
}

ffi::Error norm(Any x, Any scale, Result out, double epsilon, int64_t threads) {
  return guarded([&] {
    check_rows(x, scale);
    check_shapes(alike(x, *out));
    const int64_t n = row_size(scale);
    const RowTasks tasks(static_cast<int64_t>(x.element_count()) / n, n);
    with_type(dtype_of(x.element_type()), [&]<typename T>(T*) {
      run_parallel(static_cast<int>(threads), tasks.count(), [&](int64_t task) {
        for (int64_t row = tasks.begin(task); row < tasks.end(task); ++row)
          rows::rms_norm(at<T>(x, row * n), at<T>(scale, 0), static_cast<float>(epsilon),
                         at<T>(out, row * n), n);
      });
    });
    return ffi::Error::Success();
  });
}

ffi::Error add_norm(Any x, Any added, Any scale, Result sum, Result out, double epsilon,
                    int64_t threads) {
  return guarded([&] {
    check_rows(x, scale);
    check_shapes(alike(x, added) && alike(x, *sum) && alike(x, *out));
    const int64_t n = row_size(scale);
    const RowTasks tasks(static_cast<int64_t>(x.element_count()) / n, n);
    with_type(dtype_of(x.element_type()), [&]<typename T>(T*) {
      run_parallel(static_cast<int>(threads), tasks.count(), [&](int64_t task) {
        for (int64_t row = tasks.begin(task); row < tasks.end(task); ++row) {
          T* stream = at<T>(sum, row * n);
          rows::add(at<T>(x, row * n), at<T>(added, row * n), stream, n);
          rows::rms_norm<T>(stream, at<T>(scale, 0), static_cast<float>(epsilon),
                            at<T>(out, row * n), n);
        }
      });
    });
    return ffi::Error::Success();
  });
}

// Of the stream and its norm: what comes back to the stream by both.
ffi::Error gradient(Any x, Any scale, Any of_stream, Any of_norm, Result x_grad,
                    ffi::Result<ffi::Buffer<ffi::F32>> scale_grad, double epsilon,
                    int64_t threads) {
  return guarded([&] {
    check_rows(x, scale);
    check_shapes(alike(x, of_stream) && alike(x, of_norm) && alike(x, *x_grad) &&
                 scale_grad->element_count() == scale.element_count());
    const int64_t n = row_size(scale);
    const RowTasks tasks(static_cast<int64_t>(x.element_count()) / n, n);
    // A sum for each task, added up in their order: the same whoever ran which.
    auto* sums = scratch_of<float>(ScratchPlace::kCaller, tasks.count() * n);
    std::memset(sums, 0, static_cast<size_t>(tasks.count() * n) * sizeof(float));
    with_type(dtype_of(x.element_type()), [&]<typename T>(T*) {
      run_parallel(static_cast<int>(threads), tasks.count(), [&](int64_t task) {
        for (int64_t row = tasks.begin(task); row < tasks.end(task); ++row) {
          const int64_t place = row * n;
          rows::rms_norm_gradient({static_cast<float>(epsilon), n}, at<T>(x, place),
                                  at<T>(scale, 0), at<T>(of_norm, place), at<T>(of_stream, place),
                                  at<T>(x_grad, place), sums + task * n);
        }
      });
    });
    float* total = scale_grad->typed_data();
    std::memset(total, 0, static_cast<size_t>(n) * sizeof(float));
    for (int64_t task = 0; task < tasks.count(); ++task)
      rows::add<float>(total, sums + task * n, total, n);
    return ffi::Error::Success();
  });
}

XLA_FFI_DEFINE_HANDLER(
    kNorm, norm,
    ffi::Ffi::Bind().Arg<Any>().Arg<Any>().Ret<Any>().Attr<double>("epsilon").Attr<int64_t>(
        "threads"));
XLA_FFI_DEFINE_HANDLER(kAddNorm, add_norm,
                       ffi::Ffi::Bind()
                           .Arg<Any>()
                           .Arg<Any>()
                           .Arg<Any>()
                           .Ret<Any>()
                           .Ret<Any>()
                           .Attr<double>("epsilon")
                           .Attr<int64_t>("threads"));
XLA_FFI_DEFINE_HANDLER(kGradient, gradient,
                       ffi::Ffi::Bind()
                           .Arg<Any>()
                           .Arg<Any>()
                           .Arg<Any>()
                           .Arg<Any>()
                           .Ret<Any>()
                           .Ret<ffi::Buffer<ffi::F32>>()
                           .Attr<double>("epsilon")
                           .Attr<int64_t>("threads"));

}  // namespace

Kernel rms_norm_kernel() {
  return {.name = "rms_norm",
          .replaces = "RMSNorm and the residual addition before it, forward and backward",
          .takes = "bf16 and f32; each device its rows, which must be whole",
          .handlers = {{"tessera.rms_norm", reinterpret_cast<void*>(kNorm)},
                       {"tessera.add_rms_norm", reinterpret_cast<void*>(kAddNorm)},
                       {"tessera.rms_norm_gradient", reinterpret_cast<void*>(kGradient)}}};
}

}  // namespace tessera
