#include <algorithm>

#include "tessera/ops/contract_internal.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/shape.h"

namespace tessera::linear_internal {
namespace {

bool contains(std::span<const int> labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

int64_t position(std::span<const int> labels, int label) {
  return std::find(labels.begin(), labels.end(), label) - labels.begin();
}

// The labels of dot_general's result: batch, then a's own, then b's own.
std::vector<int> result_labels(const Labelled& a, const Labelled& b, std::span<const int> batch) {
  std::vector<int> labels(batch.begin(), batch.end());
  for (int label : a.labels) {
    if (!contains(b.labels, label)) labels.push_back(label);
  }
  for (int label : b.labels) {
    if (!contains(a.labels, label)) labels.push_back(label);
  }
  return labels;
}

}  // namespace

Labelled arrange(const Labelled& x, std::span<const int> order) {
  CHECK(order.size() == x.labels.size());
  if (std::equal(order.begin(), order.end(), x.labels.begin())) return x;
  std::vector<int> permutation;
  for (int label : order) permutation.push_back(static_cast<int>(position(x.labels, label)));
  return {transpose(x.value, permutation), {order.begin(), order.end()}};
}

Labelled sum_except(const Labelled& x, std::span<const int> keep) {
  Labelled result;
  std::vector<int> summed;
  for (size_t i = 0; i < x.labels.size(); ++i) {
    if (contains(keep, x.labels[i])) {
      result.labels.push_back(x.labels[i]);
    } else {
      summed.push_back(static_cast<int>(i));
    }
  }
  result.value = summed.empty() ? x.value : sum(x.value, summed);
  return result;
}

Labelled contract(const Labelled& a, const Labelled& b, std::span<const int> keep,
                  const DotOptions& options) {
  std::vector<int> batch;
  for (int label : keep) {
    if (contains(a.labels, label) && contains(b.labels, label)) batch.push_back(label);
  }
  std::vector<int> labels = result_labels(a, b, batch);
  std::vector<int> swapped = result_labels(b, a, batch);
  const bool swap = !std::equal(labels.begin(), labels.end(), keep.begin(), keep.end()) &&
                    std::equal(swapped.begin(), swapped.end(), keep.begin(), keep.end());
  const Labelled& lhs = swap ? b : a;
  const Labelled& rhs = swap ? a : b;
  DotDims dims;
  for (int label : batch) {
    dims.lhs_batch.push_back(position(lhs.labels, label));
    dims.rhs_batch.push_back(position(rhs.labels, label));
  }
  for (size_t i = 0; i < lhs.labels.size(); ++i) {
    const int label = lhs.labels[i];
    if (!contains(rhs.labels, label) || contains(batch, label)) continue;
    dims.lhs_contract.push_back(static_cast<int64_t>(i));
    dims.rhs_contract.push_back(position(rhs.labels, label));
  }
  return {dot_general(lhs.value, rhs.value, std::move(dims), options), swap ? swapped : labels};
}

std::string scope_suffix(Value value) {
  const std::string& scope = value.graph().current_scope();
  return scope.empty() ? "" : str_cat(" (", scope, ")");
}

}  // namespace tessera::linear_internal
