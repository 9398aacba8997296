#include "tessera/kernels/matmul_plan.h"

#include <algorithm>

#include "tessera/kernels/bf16_product.h"
#include "tessera/kernels/f32_product.h"
#include "tessera/kernels/workers.h"

namespace tessera::kernels {
namespace {

// Below this XLA's own loop is over before a call has begun.
constexpr double kMinFlop = 1 << 15;

// A dim of the operands or of the result: strides in elements, 0 where a tensor lacks it.
struct Walk {
  int64_t size, a, b, c;
};

Dims dense_strides(const Dims& dims) {
  Dims strides(dims.size());
  int64_t step = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = step;
    step *= dims[i];
  }
  return strides;
}

// Dims of size 1 need no walking; neighbours that lie alike in every tensor are one.
void simplify(std::vector<Walk>& walks) {
  std::erase_if(walks, [](const Walk& walk) { return walk.size == 1; });
  for (size_t i = 1; i < walks.size();) {
    Walk& outer = walks[i - 1];
    const Walk& inner = walks[i];
    if (outer.a == inner.size * inner.a && outer.b == inner.size * inner.b &&
        outer.c == inner.size * inner.c) {
      outer = {outer.size * inner.size, inner.a, inner.b, inner.c};
      walks.erase(walks.begin() + static_cast<int64_t>(i));
    } else {
      ++i;
    }
  }
}

// One of the walks, which becomes the matrices' dim; the others are repeated over.
Walk take_one(std::vector<Walk>& walks, std::vector<Walk>& batch, bool innermost_of_result) {
  if (walks.empty()) return {1, 1, 1, 1};
  auto best = std::max_element(walks.begin(), walks.end(),
                               [](const Walk& x, const Walk& y) { return x.size < y.size; });
  if (innermost_of_result) best = std::prev(walks.end());
  const Walk one = *best;
  walks.erase(best);
  batch.insert(batch.end(), walks.begin(), walks.end());
  return one;
}

struct Walks {
  std::vector<Walk> batch, m, n, k;
};

Walks walks_of(const DotDims& dims, const Shape& lhs, const Shape& rhs) {
  const Dims a = dense_strides(lhs.dims), b = dense_strides(rhs.dims);
  const auto holds = [](const Dims& list, int64_t dim) {
    return std::find(list.begin(), list.end(), dim) != list.end();
  };
  Walks walks;
  for (size_t i = 0; i < dims.lhs_batch.size(); ++i) {
    const int64_t l = dims.lhs_batch[i], r = dims.rhs_batch[i];
    walks.batch.push_back({lhs.dims[l], a[l], b[r], 0});
  }
  for (size_t i = 0; i < dims.lhs_contract.size(); ++i) {
    const int64_t l = dims.lhs_contract[i], r = dims.rhs_contract[i];
    walks.k.push_back({lhs.dims[l], a[l], b[r], 0});
  }
  for (int64_t dim = 0; dim < lhs.rank(); ++dim) {
    if (!holds(dims.lhs_batch, dim) && !holds(dims.lhs_contract, dim))
      walks.m.push_back({lhs.dims[dim], a[dim], 0, 0});
  }
  for (int64_t dim = 0; dim < rhs.rank(); ++dim) {
    if (!holds(dims.rhs_batch, dim) && !holds(dims.rhs_contract, dim))
      walks.n.push_back({rhs.dims[dim], 0, b[dim], 0});
  }
  int64_t step = 1;
  for (std::vector<Walk>* part : {&walks.n, &walks.m, &walks.batch}) {
    for (size_t i = part->size(); i-- > 0;) {
      (*part)[i].c = step;
      step *= (*part)[i].size;
    }
  }
  // The order in which sums are taken is free: that of lhs, so that neighbours meet.
  std::stable_sort(walks.k.begin(), walks.k.end(),
                   [](const Walk& x, const Walk& y) { return x.a > y.a; });
  return walks;
}

bool has_unit_stride(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride) {
  return (columns == 1 || column_stride == 1 || row_stride == 1 || rows == 1);
}

/// A product cut into panels of columns, each multiplied in blocks of rows.
class Panels {
 public:
  Panels(const Product& whole, int threads) : whole_(whole) {
    // At multiples of the processor's own blocks; as many as threads, so that all can pack.
    constexpr int64_t kGrain = 64, kWidest = 1024;
    const int64_t share = (whole.n / threads + kGrain - 1) / kGrain * kGrain;
    width_ = std::clamp(share, kGrain, kWidest);
    count_ = (whole.n + width_ - 1) / width_;
    offset_ = Multiplier::of(panel(0)).packed_bytes();
    offset_ = (offset_ + 63) / 64 * 64;
    blocks_ = Multiplier::of(panel(0)).blocks();
  }

  void run(int threads, const std::byte* a, const std::byte* b, std::byte* c) const {
    const int64_t in = dtype_host_bytes(whole_.operands), out = dtype_host_bytes(whole_.result);
    auto* packed = static_cast<std::byte*>(scratch(ScratchPlace::kCaller, count_ * offset_));
    run_parallel(threads, count_, [&](int64_t i) {
      Multiplier::of(panel(i)).pack(b + i * width_ * whole_.b_n * in, packed + i * offset_);
    });
    run_parallel(threads, count_ * blocks_, [&](int64_t task) {
      const int64_t i = task / blocks_;
      Multiplier::of(panel(i)).rows(task % blocks_, a, packed + i * offset_, c + i * width_ * out);
    });
  }

 private:
  Product panel(int64_t index) const {
    Product product = whole_;
    product.n = std::min(width_, whole_.n - index * width_);
    return product;
  }

  Product whole_;
  int64_t width_, count_, offset_, blocks_;
};

// Null: oneDNN's.
decltype(&multiply_f32) our_product(const Product& product) {
  if (product.operands == DType::kBF16) return has_bf16_product() ? &multiply_bf16 : nullptr;
  return has_f32_product() ? &multiply_f32 : nullptr;
}

}  // namespace

int64_t MatmulPlan::batch_size() const {
  int64_t size = 1;
  for (const BatchDim& dim : batch) size *= dim.size;
  return size;
}

std::optional<MatmulPlan> plan_matmul(const DotAttrs& attrs, const Shape& lhs, const Shape& rhs) {
  if (lhs.dtype != rhs.dtype || !can_multiply(lhs.dtype, attrs.dtype)) return std::nullopt;
  Walks walks = walks_of(attrs.dims, lhs, rhs);
  for (std::vector<Walk>* part : {&walks.batch, &walks.m, &walks.n, &walks.k}) simplify(*part);
  if (walks.k.size() > 1) return std::nullopt;
  const Walk n = take_one(walks.n, walks.batch, /*innermost_of_result=*/true);
  const Walk m = take_one(walks.m, walks.batch, /*innermost_of_result=*/false);
  const Walk k = walks.k.empty() ? Walk{1, 1, 1, 0} : walks.k[0];
  MatmulPlan plan{{.m = m.size,
                   .n = n.size,
                   .k = k.size,
                   .a_m = m.a,
                   .a_k = k.a,
                   .b_k = k.b,
                   .b_n = n.b,
                   .c_m = m.c,
                   .operands = lhs.dtype,
                   .result = attrs.dtype},
                  {}};
  for (const Walk& walk : walks.batch) plan.batch.push_back({walk.size, walk.a, walk.b, walk.c});
  const Product& p = plan.product;
  if (!has_unit_stride(p.m, p.k, p.a_m, p.a_k) || !has_unit_stride(p.k, p.n, p.b_k, p.b_n))
    return std::nullopt;
  const double flop = 2.0 * static_cast<double>(plan.batch_size()) * static_cast<double>(p.m) *
                      static_cast<double>(p.n) * static_cast<double>(p.k);
  if (flop < kMinFlop) return std::nullopt;
  return plan;
}

void run_matmul(const MatmulPlan& plan, int threads, const void* a, const void* b, void* c) {
  const Product& whole = plan.product;
  const int64_t repeats = plan.batch_size();
  const int64_t in = dtype_host_bytes(whole.operands), out = dtype_host_bytes(whole.result);
  const auto one = [&](int64_t index, const auto& multiply_at) {
    int64_t at_a = 0, at_b = 0, at_c = 0;
    for (size_t i = plan.batch.size(); i-- > 0;) {
      const BatchDim& dim = plan.batch[i];
      const int64_t place = index % dim.size;
      index /= dim.size;
      at_a += place * dim.a;
      at_b += place * dim.b;
      at_c += place * dim.c;
    }
    multiply_at(static_cast<const std::byte*>(a) + at_a * in,
                static_cast<const std::byte*>(b) + at_b * in,
                static_cast<std::byte*>(c) + at_c * out);
  };
  const auto ours = our_product(whole);
  if (repeats >= 4 * threads) {
    run_parallel(threads, repeats, [&](int64_t index) {
      one(index, [&](auto... at) { ours ? ours(whole, 1, at...) : multiply(whole, at...); });
    });
    return;
  }
  if (ours) {
    for (int64_t index = 0; index < repeats; ++index)
      one(index, [&](auto... at) { ours(whole, threads, at...); });
    return;
  }
  const Panels panels(whole, threads);
  for (int64_t index = 0; index < repeats; ++index)
    one(index, [&](auto... at) { panels.run(threads, at...); });
}

}  // namespace tessera::kernels
