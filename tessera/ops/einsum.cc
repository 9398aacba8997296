#include <algorithm>
#include <map>

#include "tessera/ops/constant.h"
#include "tessera/ops/contract_internal.h"
#include "tessera/ops/einsum_internal.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/shape.h"

namespace tessera {
namespace {

using linear_internal::arrange;
using linear_internal::contract;
using linear_internal::EinsumEquation;
using linear_internal::EinsumTerm;
using linear_internal::Labelled;
using linear_internal::parse_einsum;
using linear_internal::scope_suffix;
using linear_internal::sum_except;

// Labels are the letters' codes; those of `...` are -1 for its last dim, -2 for the one before.
std::vector<int> term_labels(const EinsumTerm& term, int ellipsis_rank) {
  std::vector<int> labels;
  for (int i = 0; i <= static_cast<int>(term.letters.size()); ++i) {
    if (i == term.ellipsis) {
      for (int back = ellipsis_rank; back >= 1; --back) labels.push_back(-back);
    }
    if (i < static_cast<int>(term.letters.size())) labels.push_back(term.letters[i]);
  }
  return labels;
}

std::string label_name(int label) {
  if (label >= 0) return str_cat("letter ", std::string(1, static_cast<char>(label)));
  return str_cat("dim ", label, " of `...`");
}

// What the equation says of the operands, once their shapes are known.
class Binding {
 public:
  Binding(std::string_view equation, std::span<const Value> operands)
      : equation_(equation), parsed_(parse_einsum(equation)) {
    if (parsed_.operands.size() != operands.size()) {
      fail("[einsum] \"", equation, "\" is for ", parsed_.operands.size(), " operands, got ",
           operands.size());
    }
    for (size_t i = 0; i < operands.size(); ++i) bind(operands, i);
    for (Labelled& term : terms_) term = take_diagonals(drop_stretched(term));
  }

  std::vector<Labelled>& terms() { return terms_; }
  std::vector<int> result() const { return term_labels(parsed_.result, ellipsis_rank_); }

 private:
  struct Size {
    int64_t size;
    size_t operand;
  };

  void bind(std::span<const Value> operands, size_t index) {
    const Value x = operands[index];
    const EinsumTerm& term = parsed_.operands[index];
    const int letters = static_cast<int>(term.letters.size());
    if (term.ellipsis < 0 ? x.rank() != letters : x.rank() < letters) {
      fail("[einsum] \"", equation_, "\": operand ", index, " is ", to_string(x.shape()),
           " of rank ", x.rank(), ", its letters are ", letters, scope_suffix(x));
    }
    const int ellipsis_rank = term.ellipsis < 0 ? 0 : x.rank() - letters;
    ellipsis_rank_ = std::max(ellipsis_rank_, ellipsis_rank);
    terms_.push_back({x, term_labels(term, ellipsis_rank)});
    for (int dim = 0; dim < x.rank(); ++dim) {
      note_size(operands, index, terms_.back().labels[dim], x.dim(dim));
    }
  }

  void note_size(std::span<const Value> operands, size_t index, int label, int64_t size) {
    auto [known, inserted] = sizes_.try_emplace(label, Size{size, index});
    if (inserted || known->second.size == size) return;
    if (label < 0 && size == 1) return;
    if (label < 0 && known->second.size == 1) {
      known->second = {size, index};
      return;
    }
    fail("[einsum] \"", equation_, "\": ", label_name(label), " is ", known->second.size,
         " in operand ", known->second.operand, " (",
         to_string(operands[known->second.operand].shape()), ") and ", size, " in operand ", index,
         " (", to_string(operands[index].shape()), ")", scope_suffix(operands[index]));
  }

  // Dims of size 1 that broadcasting stretches need no stretching here: the product has the
  // others'.
  Labelled drop_stretched(const Labelled& x) const {
    Labelled result{x.value, {}};
    Dims kept;
    for (size_t i = 0; i < x.labels.size(); ++i) {
      const int64_t size = x.value.dim(static_cast<int>(i));
      if (size != sizes_.at(x.labels[i]).size) continue;
      kept.push_back(size);
      result.labels.push_back(x.labels[i]);
    }
    if (kept.size() != x.labels.size()) result.value = reshape(x.value, kept);
    return result;
  }

  // Where a label stands twice, all but the diagonal becomes zero, and one of the dims is summed.
  static Labelled take_diagonals(Labelled x) {
    for (size_t second = 1; second < x.labels.size();) {
      const auto begin = x.labels.begin();
      const auto first = std::find(begin, begin + second, x.labels[second]);
      if (first == begin + second) {
        ++second;
        continue;
      }
      const Shape indices = x.value.shape().with_dtype(DType::kS32);
      Graph& graph = x.value.graph();
      const Value diagonal = equal(iota(graph, indices, static_cast<int>(first - begin)),
                                   iota(graph, indices, static_cast<int>(second)));
      x.value = sum(select(diagonal, x.value, zeros_like(x.value)), static_cast<int>(second));
      x.labels.erase(begin + second);
    }
    return x;
  }

  std::string_view equation_;
  EinsumEquation parsed_;
  std::vector<Labelled> terms_;
  std::map<int, Size> sizes_;
  int ellipsis_rank_ = 0;
};

// Multiplications of a pair's product: the sizes of all labels of both.
double pair_cost(const Labelled& a, const Labelled& b) {
  double cost = 1;
  for (int64_t size : a.value.dims()) cost *= static_cast<double>(size);
  for (size_t i = 0; i < b.labels.size(); ++i) {
    if (std::find(a.labels.begin(), a.labels.end(), b.labels[i]) == a.labels.end()) {
      cost *= static_cast<double>(b.value.dim(static_cast<int>(i)));
    }
  }
  return cost;
}

std::pair<size_t, size_t> cheapest_pair(std::span<const Labelled> terms) {
  std::pair<size_t, size_t> best{0, 1};
  double best_cost = pair_cost(terms[0], terms[1]);
  for (size_t i = 0; i < terms.size(); ++i) {
    for (size_t j = i + 1; j < terms.size(); ++j) {
      if (const double cost = pair_cost(terms[i], terms[j]); cost < best_cost) {
        best = {i, j};
        best_cost = cost;
      }
    }
  }
  return best;
}

// The labels that a pair's product must keep: the result's, and those of the other terms.
std::vector<int> kept_labels(std::span<const Labelled> terms, std::pair<size_t, size_t> pair,
                             std::vector<int> result) {
  for (size_t i = 0; i < terms.size(); ++i) {
    if (i == pair.first || i == pair.second) continue;
    for (int label : terms[i].labels) {
      if (std::find(result.begin(), result.end(), label) == result.end()) result.push_back(label);
    }
  }
  return result;
}

// What a term must keep for its product with another.
Labelled sum_own(const Labelled& x, const Labelled& other, std::vector<int> keep) {
  keep.insert(keep.end(), other.labels.begin(), other.labels.end());
  return sum_except(x, keep);
}

}  // namespace

Value einsum(std::string_view equation, std::span<const Value> operands,
             const DotOptions& options) {
  Binding binding(equation, operands);
  std::vector<Labelled>& terms = binding.terms();
  const std::vector<int> result = binding.result();
  while (terms.size() > 1) {
    const auto pair = cheapest_pair(terms);
    const std::vector<int> keep = kept_labels(terms, pair, result);
    const Labelled a = sum_own(terms[pair.first], terms[pair.second], keep);
    const Labelled b = sum_own(terms[pair.second], a, keep);
    DotOptions step = options;
    if (terms.size() > 2) step.dtype.reset();  // the last product decides the result's dtype
    terms[pair.first] = contract(a, b, keep, step);
    terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(pair.second));
  }
  const Value last = arrange(sum_except(terms[0], result), result).value;
  return convert(last, options.dtype.value_or(last.dtype()));
}

Value einsum(std::string_view equation, std::initializer_list<Value> operands,
             const DotOptions& options) {
  return einsum(equation, std::span<const Value>(operands.begin(), operands.size()), options);
}

}  // namespace tessera
