#include "tessera/nn/matrix_view.h"

#include <algorithm>

namespace tessera {
namespace {

// Dimensions that count matrices and belong to none.
bool counts_matrices(const std::string& name) {
  for (const char* batch :
       {"layers", "dense_layers", "moe_layers", "circular_repeats", "stage", "exp"}) {
    if (name == batch) return true;
  }
  return false;
}

// The width of the residual stream.
bool is_embed(const std::string& name) { return name.starts_with("embed"); }

int64_t product(const Dims& dims, const std::vector<int>& chosen) {
  int64_t count = 1;
  for (int dim : chosen) count *= dims[dim];
  return count;
}

}  // namespace

std::vector<int> MatrixView::matrix_dims() const {
  std::vector<int> dims = rows;
  dims.insert(dims.end(), columns.begin(), columns.end());
  return dims;
}

MatrixView matrix_view(const ParamSpec& spec) {
  MatrixView view;
  const int rank = static_cast<int>(spec.dims.size());
  int first = 0;
  while (first < rank && counts_matrices(spec.names[first])) view.batch.push_back(first++);
  // What leads back into the stream has all else as its input; any other matrix has one input.
  const bool leads_back =
      first < rank && is_embed(spec.names[rank - 1]) && !is_embed(spec.names[first]);
  const int split = leads_back ? rank - 1 : first + 1;
  for (int dim = first; dim < rank; ++dim) (dim < split ? view.rows : view.columns).push_back(dim);
  if (view.rows.empty()) std::swap(view.rows, view.columns);
  view.batch_count = product(spec.dims, view.batch);
  view.row_count = product(spec.dims, view.rows);
  view.column_count = product(spec.dims, view.columns);
  return view;
}

}  // namespace tessera
