#include "tessera/ops/linear.h"

#include "tests/ops/golden.h"
#include "tests/ops/op_testing.h"

namespace tessera::op_testing {
namespace {

using Parameters = std::span<const Value>;
using Values = std::vector<Value>;

GradientCase dot_case(std::string name, DotDims dims, Dims lhs, Dims rhs) {
  return {.name = std::move(name),
          .fn = [dims](Graph&, Parameters p) -> Values { return {dot_general(p[0], p[1], dims)}; },
          .inputs = {random_f64(std::move(lhs)), random_f64(std::move(rhs), -1, 1, 1)}};
}

GradientCase matmul_case(std::string name, Dims x, Dims w) {
  return {.name = std::move(name),
          .fn = [](Graph&, Parameters p) -> Values { return {matmul(p[0], p[1])}; },
          .inputs = {random_f64(std::move(x)), random_f64(std::move(w), -1, 1, 1)}};
}

GradientCase einsum_case(std::string name, std::string equation, std::vector<Dims> shapes) {
  GradientCase c{.name = std::move(name), .fn = [equation](Graph&, Parameters p) -> Values {
                   return {einsum(equation, p)};
                 }};
  for (size_t i = 0; i < shapes.size(); ++i) c.inputs.push_back(random_f64(shapes[i], -1, 1, i));
  return c;
}

GoldenFunction golden_einsum(std::string key, std::string equation) {
  return {std::move(key),
          [equation](Graph&, Parameters p) -> Values { return {einsum(equation, p)}; }};
}

const bool kGolden = add_golden_functions("linear", [] {
  const DotDims crossed{
      .lhs_batch = {3, 0}, .rhs_batch = {2, 3}, .lhs_contract = {2}, .rhs_contract = {0}};
  return std::vector<GoldenFunction>{
      {"dot_general",
       [crossed](Graph&, Parameters p) -> Values { return {dot_general(p[0], p[1], crossed)}; }},
      {"matmul", [](Graph&, Parameters p) -> Values { return {matmul(p[0], p[1])}; }},
      {"matmul_to_f32",
       [](Graph&, Parameters p) -> Values { return {matmul(p[0], p[1], {.dtype = DType::kF32})}; }},
      golden_einsum("einsum_project", "btd,df->btf"),
      golden_einsum("einsum_operands_change_places", "df,btd->btf"),
      golden_einsum("einsum_scores", "bthd,bshd->bhts"),
      golden_einsum("einsum_values", "bhts,bshd->bthd"),
      golden_einsum("einsum_transpose", "ijk->kij"),
      golden_einsum("einsum_sum", "ij->"),
      golden_einsum("einsum_trace", "ii->"),
      golden_einsum("einsum_diagonal", "iji->ji"),
      golden_einsum("einsum_outer", "i,j->ij"),
      golden_einsum("einsum_elementwise", "ij,ij->ij"),
      golden_einsum("einsum_sum_of_one", "ijx,jk->ik"),
      golden_einsum("einsum_three", "ij,jk,kl->li"),
      golden_einsum("einsum_four", "ab,bc,cd,a->d"),
      golden_einsum("einsum_ellipsis", "...ij,...jk->...ik"),
      golden_einsum("einsum_scalar", ",ij->ij"),
  };
});

const bool kGradients = add_gradient_cases("linear", [] {
  return std::vector<GradientCase>{
      dot_case("vectors", {.lhs_contract = {0}, .rhs_contract = {0}}, {3}, {3}),
      dot_case("outer_product", {}, {2}, {3}),
      dot_case("batch_dims_in_odd_places",
               {.lhs_batch = {2, 0}, .rhs_batch = {1, 3}, .lhs_contract = {3}, .rhs_contract = {0}},
               {2, 2, 3, 2}, {2, 3, 2, 2}),
      dot_case("two_contracted_crosswise", {.lhs_contract = {0, 2}, .rhs_contract = {2, 1}},
               {2, 2, 3}, {2, 3, 2}),
      matmul_case("matmul_of_a_matrix", {2, 3, 4}, {4, 2}),
      matmul_case("matmul_broadcasts", {2, 1, 2, 3}, {2, 3, 2}),
      matmul_case("matmul_of_vectors", {3}, {2, 3, 2}),
      einsum_case("einsum_attention", "bthd,bshd->bhts", {{2, 2, 2, 3}, {2, 3, 2, 3}}),
      einsum_case("einsum_transposes", "btd,df->ftb", {{2, 2, 3}, {3, 2}}),
      einsum_case("einsum_of_three", "ij,jk,kl->il", {{2, 3}, {3, 2}, {2, 3}}),
      einsum_case("einsum_diagonal", "iij,j->i", {{2, 2, 3}, {3}}),
      einsum_case("einsum_sums_a_letter_of_one", "ijx,jk->ik", {{2, 2, 3}, {2, 2}}),
      einsum_case("einsum_ellipsis", "...ij,...jk->...ik", {{2, 1, 2, 2}, {3, 2, 2}}),
  };
});

// A cotangent in f32 of bf16 operands: both gradients are bf16, and right to bf16's rounding.
TEST(LinearGradients, OfBf16OperandsWithAnF32ResultAreBf16) {
  Graph g;
  const Value x = g.parameter({DType::kBF16, {2, 3}});
  const Value y =
      dot_general(x, x, {.lhs_contract = {1}, .rhs_contract = {1}}, {.dtype = DType::kF32});
  Vjp vjp(g, y.id().node, {g.parameter(y.shape())}, {true, true});
  kDotGeneral.vjp(vjp);
  EXPECT_EQ(vjp.grads()[0].shape(), x.shape());
  EXPECT_EQ(vjp.grads()[1].shape(), x.shape());
}

}  // namespace
}  // namespace tessera::op_testing
