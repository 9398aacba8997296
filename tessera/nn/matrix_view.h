#pragma once

#include <vector>

#include "tessera/nn/param.h"

namespace tessera {

/// A parameter seen as a stack of matrices from inputs (rows) to outputs (columns), by the names of
/// its dimensions: query.kernel [layers, D, H, C] is `layers` matrices of D rows and H·C columns,
/// out.kernel [layers, H, C, D] of H·C rows. The lists are of dimensions, ascending; together they
/// are all of them, batch first, then rows.
struct MatrixView {
  std::vector<int> batch;
  std::vector<int> rows;
  std::vector<int> columns;  ///< empty for what is no matrix: a norm's scale, a bias
  int64_t batch_count = 1;
  int64_t row_count = 1;
  int64_t column_count = 1;

  bool is_matrix() const { return !columns.empty(); }
  /// rows and columns.
  std::vector<int> matrix_dims() const;
};
MatrixView matrix_view(const ParamSpec& spec);

}  // namespace tessera
