// AdamW over one parameter, in place, and the squares of gradients. train/fused_adamw.cc builds the
// calls. A gradient may come in pieces: the layers' own, without the stack.
#include "tessera/kernels/ffi_internal.h"
#include "tessera/kernels/handlers_internal.h"
#include "tessera/kernels/product.h"
#include "tessera/kernels/rows.h"
#include "tessera/kernels/workers.h"

namespace tessera {
namespace {

using namespace kernels;
using Any = ffi::AnyBuffer;
using Floats = ffi::Buffer<ffi::F32>;

/// A piece of a gradient, cut once more into what a task takes.
struct Part {
  const Any* piece;
  int64_t of_piece, first, size;  // of the piece; which of them the first is in the parameter
};

std::vector<Any> pieces_of(ffi::RemainingArgs args) {
  std::vector<Any> pieces;
  for (size_t i = 0; i < args.size(); ++i) {
    auto piece = args.get<Any>(i);
    if (!piece) throw std::invalid_argument("a piece that is no array");
    pieces.push_back(*piece);
  }
  return pieces;
}

std::vector<Part> parts_of(const std::vector<Any>& pieces) {
  constexpr int64_t kPart = 1 << 16;
  std::vector<Part> parts;
  int64_t begin = 0;
  for (const Any& piece : pieces) {
    const auto size = static_cast<int64_t>(piece.element_count());
    for (int64_t i = 0; i < size; i += kPart)
      parts.push_back({&piece, i, begin + i, std::min(kPart, size - i)});
    begin += size;
  }
  return parts;
}

ffi::Error update(Floats param, Floats mu, Floats nu, Floats factors, ffi::RemainingArgs rest,
                  ffi::Result<Floats> new_param, ffi::Result<Floats> new_mu,
                  ffi::Result<Floats> new_nu, double b1, double b2, double epsilon,
                  double weight_decay, int64_t threads) {
  return guarded([&] {
    const std::vector<Any> pieces = pieces_of(rest);
    const std::vector<Part> parts = parts_of(pieces);
    const int64_t size = parts.empty() ? 0 : parts.back().first + parts.back().size;
    for (const Floats& each : {param, mu, nu, *new_param, *new_mu, *new_nu})
      check_shapes(static_cast<int64_t>(each.element_count()) == size);
    check_shapes(factors.element_count() == 4);
    const float* numbers = factors.typed_data();
    const rows::AdamwStep step{.b1 = static_cast<float>(b1),
                               .b2 = static_cast<float>(b2),
                               .epsilon = static_cast<float>(epsilon),
                               .weight_decay = static_cast<float>(weight_decay),
                               .learning_rate = numbers[0],
                               .mu_factor = numbers[1],
                               .nu_factor = numbers[2],
                               .grad_factor = numbers[3]};
    run_parallel(static_cast<int>(threads), static_cast<int64_t>(parts.size()), [&](int64_t i) {
      const Part& part = parts[i];
      with_type(dtype_of(part.piece->element_type()), [&]<typename T>(T*) {
        rows::adamw(step, static_cast<const T*>(part.piece->untyped_data()) + part.of_piece,
                    {param.typed_data() + part.first, mu.typed_data() + part.first,
                     nu.typed_data() + part.first},
                    {new_param->typed_data() + part.first, new_mu->typed_data() + part.first,
                     new_nu->typed_data() + part.first},
                    part.size);
      });
    });
    return ffi::Error::Success();
  });
}

// Of each group of pieces the sum of squares.
ffi::Error squares(ffi::RemainingArgs rest, ffi::Result<Floats> sums,
                   ffi::Span<const int64_t> groups, int64_t threads) {
  return guarded([&] {
    const std::vector<Any> pieces = pieces_of(rest);
    check_shapes(groups.size() == sums->element_count());
    const std::vector<Part> parts = parts_of(pieces);
    auto* each = scratch_of<float>(ScratchPlace::kCaller, std::max<int64_t>(1, std::ssize(parts)));
    run_parallel(static_cast<int>(threads), static_cast<int64_t>(parts.size()), [&](int64_t i) {
      const Part& part = parts[i];
      with_type(dtype_of(part.piece->element_type()), [&]<typename T>(T*) {
        const T* data = static_cast<const T*>(part.piece->untyped_data()) + part.of_piece;
        each[i] = rows::dot(data, data, part.size);
      });
    });
    const Any* piece = pieces.data();
    size_t at = 0;
    for (size_t group = 0; group < groups.size(); ++group) {
      const Any* end = piece + groups[group];
      check_shapes(end <= pieces.data() + pieces.size());
      double sum = 0;
      for (; at < parts.size() && parts[at].piece < end; ++at) sum += each[at];
      sums->typed_data()[group] = static_cast<float>(sum);
      piece = end;
    }
    return ffi::Error::Success();
  });
}

XLA_FFI_DEFINE_HANDLER(kUpdate, update,
                       ffi::Ffi::Bind()
                           .Arg<Floats>()
                           .Arg<Floats>()
                           .Arg<Floats>()
                           .Arg<Floats>()
                           .RemainingArgs()
                           .Ret<Floats>()
                           .Ret<Floats>()
                           .Ret<Floats>()
                           .Attr<double>("b1")
                           .Attr<double>("b2")
                           .Attr<double>("epsilon")
                           .Attr<double>("weight_decay")
                           .Attr<int64_t>("threads"));
XLA_FFI_DEFINE_HANDLER(kSquares, squares,
                       ffi::Ffi::Bind()
                           .RemainingArgs()
                           .Ret<Floats>()
                           .Attr<ffi::Span<const int64_t>>("groups")
                           .Attr<int64_t>("threads"));

}  // namespace

Kernel adamw_kernel() {
  return {.name = "adamw",
          .replaces = "AdamW's update, in place, and gradients' norms, without stacked gradients",
          .takes = "gradients of bf16 or f32, moments of f32; programs of one device",
          .handlers = {{"tessera.adamw", reinterpret_cast<void*>(kUpdate)},
                       {"tessera.sums_of_squares", reinterpret_cast<void*>(kSquares)}}};
}

}  // namespace tessera
