#include "tessera/nn/matrix_view.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using Ints = std::vector<int>;

TEST(MatrixView, TakesTheStreamsWidthForInputOrOutput) {
  const MatrixView query = matrix_view({{3, 8, 2, 5}, {"layers", "embed", "q_heads", "kv"}, {}});
  EXPECT_EQ(query.batch, Ints({0}));
  EXPECT_EQ(query.rows, Ints({1}));
  EXPECT_EQ(query.columns, Ints({2, 3}));
  EXPECT_EQ(query.batch_count, 3);
  EXPECT_EQ(query.row_count, 8);
  EXPECT_EQ(query.column_count, 10);
  const MatrixView out = matrix_view({{3, 2, 5, 8}, {"layers", "heads", "kv", "embed"}, {}});
  EXPECT_EQ(out.rows, Ints({1, 2}));
  EXPECT_EQ(out.columns, Ints({3}));
  EXPECT_EQ(out.matrix_dims(), Ints({1, 2, 3}));
}

TEST(MatrixView, CountsExpertsAsMatrices) {
  const MatrixView up = matrix_view({{3, 4, 8, 6}, {"layers", "exp", "embed_moe", "mlp_moe"}, {}});
  EXPECT_EQ(up.batch, Ints({0, 1}));
  EXPECT_EQ(up.batch_count, 12);
  EXPECT_EQ(up.row_count, 8);
  EXPECT_EQ(up.column_count, 6);
}

TEST(MatrixView, SeesNoMatrixInANorm) {
  EXPECT_FALSE(matrix_view({{3, 8}, {"layers", "norm"}, {}}).is_matrix());
  EXPECT_FALSE(matrix_view({{8}, {"norm"}, {}}).is_matrix());
  EXPECT_FALSE(matrix_view({{3}, {"layers"}, {}}).is_matrix());
  EXPECT_TRUE(matrix_view({{9, 8}, {"vocab", "embed_vocab"}, {}}).is_matrix());
}

}  // namespace
}  // namespace tessera
