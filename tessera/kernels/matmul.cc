// dot_general by oneDNN.
#include "tessera/base/strings.h"
#include "tessera/kernels/ffi_internal.h"
#include "tessera/kernels/handlers_internal.h"
#include "tessera/kernels/matmul_plan.h"
#include "tessera/stablehlo/emitter.h"

namespace tessera {
namespace {

using namespace kernels;

constexpr char kTarget[] = "tessera.matmul";

// One more than the place of the last element that the walks reach.
bool fits(const MatmulPlan& plan, int64_t a_size, int64_t b_size, int64_t c_size) {
  const Product& p = plan.product;
  int64_t a = (p.m - 1) * p.a_m + (p.k - 1) * p.a_k;
  int64_t b = (p.k - 1) * p.b_k + (p.n - 1) * p.b_n;
  int64_t c = (p.m - 1) * p.c_m + (p.n - 1);
  for (const BatchDim& dim : plan.batch) {
    a += (dim.size - 1) * dim.a;
    b += (dim.size - 1) * dim.b;
    c += (dim.size - 1) * dim.c;
  }
  return a < a_size && b < b_size && c < c_size;
}

ffi::Error run(ffi::AnyBuffer a, ffi::AnyBuffer b, ffi::Result<ffi::AnyBuffer> c,
               ffi::Span<const int64_t> product, ffi::Span<const int64_t> batch, int64_t threads) {
  return guarded([&] {
    if (product.size() != 8 || batch.size() % 4 != 0)
      return ffi::Error::InvalidArgument("tessera.matmul: attributes of another version");
    MatmulPlan plan{{.m = product[0],
                     .n = product[1],
                     .k = product[2],
                     .a_m = product[3],
                     .a_k = product[4],
                     .b_k = product[5],
                     .b_n = product[6],
                     .c_m = product[7],
                     .operands = dtype_of(a.element_type()),
                     .result = dtype_of(c->element_type())},
                    {}};
    for (size_t i = 0; i < batch.size(); i += 4)
      plan.batch.push_back({batch[i], batch[i + 1], batch[i + 2], batch[i + 3]});
    if (!fits(plan, static_cast<int64_t>(a.element_count()),
              static_cast<int64_t>(b.element_count()), static_cast<int64_t>(c->element_count())))
      return ffi::Error::InvalidArgument("tessera.matmul: walks past the end of an operand");
    run_matmul(plan, static_cast<int>(threads), a.untyped_data(), b.untyped_data(),
               c->untyped_data());
    return ffi::Error::Success();
  });
}

XLA_FFI_DEFINE_HANDLER(kHandler, run,
                       ffi::Ffi::Bind()
                           .Arg<ffi::AnyBuffer>()
                           .Arg<ffi::AnyBuffer>()
                           .Ret<ffi::AnyBuffer>()
                           .Attr<ffi::Span<const int64_t>>("product")
                           .Attr<ffi::Span<const int64_t>>("batch")
                           .Attr<int64_t>("threads"));

std::optional<stablehlo::KernelCall> call(const Node& node, std::span<const Shape> operands,
                                          const Shape& /*result*/, int threads) {
  const auto& attrs = node.attr<DotAttrs>();
  const std::optional<MatmulPlan> plan = plan_matmul(attrs, operands[0], operands[1]);
  if (!plan) return std::nullopt;
  const Product& p = plan->product;
  const int64_t product[] = {p.m, p.n, p.k, p.a_m, p.a_k, p.b_k, p.b_n, p.c_m};
  std::vector<int64_t> batch;
  for (const BatchDim& dim : plan->batch)
    batch.insert(batch.end(), {dim.size, dim.a, dim.b, dim.c});
  return stablehlo::KernelCall{kTarget, str_cat("{batch = ", stablehlo::mlir_i64_array(batch),
                                                ", product = ", stablehlo::mlir_i64_array(product),
                                                ", threads = ", threads, " : i64}")};
}

stablehlo::DimLabels labels(const Node& node, std::span<const Shape> operands) {
  const DotDims& dims = node.attr<DotAttrs>().dims;
  stablehlo::DimLabels labels{
      {std::vector<int>(operands[0].rank(), -1), std::vector<int>(operands[1].rank(), -1)}, {}};
  std::vector<int>&lhs = labels.operands[0], &rhs = labels.operands[1];
  int next = 0;
  for (size_t i = 0; i < dims.lhs_batch.size(); ++i, ++next) {
    lhs[dims.lhs_batch[i]] = rhs[dims.rhs_batch[i]] = next;
    labels.result.push_back(next);
  }
  for (size_t i = 0; i < dims.lhs_contract.size(); ++i, ++next)
    lhs[dims.lhs_contract[i]] = rhs[dims.rhs_contract[i]] = next;
  for (std::vector<int>* side : {&lhs, &rhs}) {
    for (int& label : *side) {
      if (label >= 0) continue;
      label = next++;
      labels.result.push_back(label);
    }
  }
  return labels;
}

constexpr stablehlo::OpKernel kMatmul = {
    .name = "matmul", .op = &kDotGeneral, .call = call, .labels = labels};

}  // namespace

Kernel matmul_kernel() {
  return {.name = "matmul",
          .replaces = "matrix products (dot_general), those of gradients too",
          .takes =
              "bf16 → bf16 or f32, f32 → f32, any batch, any transposition; every device "
              "multiplies its own part",
          .handlers = {{kTarget, reinterpret_cast<void*>(kHandler)}},
          .op = &kMatmul,
          .restriction = [] {
            return can_multiply(DType::kBF16, DType::kBF16)
                       ? std::string()
                       : std::string("f32 only: bf16 needs AVX-512");
          }};
}

}  // namespace tessera
