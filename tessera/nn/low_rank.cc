#include "tessera/nn/low_rank.h"

#include "tessera/nn/matrix_view.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/shape.h"

namespace tessera {

Value with_low_rank(Value value, Value a, Value b, const ParamSpec& spec) {
  const MatrixView view = matrix_view(spec);
  const int64_t rank = a.dim(-1);
  const Value a_NRr = reshape(a, {view.batch_count, view.row_count, rank});
  const Value b_NrC = reshape(b, {view.batch_count, rank, view.column_count});
  return value + reshape(matmul(a_NRr, b_NrC), value.dims());
}

}  // namespace tessera
