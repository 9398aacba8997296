#include <algorithm>

#include "tessera/nn/matrix_view.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/shape.h"
#include "tessera/train/optimizer.h"

namespace tessera {
namespace {

constexpr double kTiny = 1e-30;          // added to squared gradients
constexpr double kLargestUpdate = 1;     // root mean square of an update
constexpr double kSmallestParam = 1e-3;  // below this, updates are relative to this

/// The parameter's spec without some of its dimensions.
ParamSpec without(const ParamSpec& spec, const std::vector<int>& dropped) {
  ParamSpec kept{.dims = {}, .names = {}, .init = Init::zeros()};
  for (int i = 0; i < static_cast<int>(spec.dims.size()); ++i) {
    if (std::find(dropped.begin(), dropped.end(), i) != dropped.end()) continue;
    kept.dims.push_back(spec.dims[i]);
    kept.names.push_back(spec.names[i]);
  }
  return kept;
}

Value rms(Value x, const std::vector<int>& dims) {
  return sqrt(mean(x * x, dims, /*keepdims=*/true));
}

class Adafactor final : public UpdateRule {
 public:
  explicit Adafactor(const OptimizerConfig& config) : config_(config) {}

  std::vector<Slot> slots(const std::string&, const ParamSpec& spec) const override {
    const MatrixView view = matrix_view(spec);
    if (!factored(view)) {
      Slot whole{"nu", spec};
      whole.spec.init = Init::zeros();
      return {whole};
    }
    return {{"nu_rows", without(spec, view.columns)}, {"nu_columns", without(spec, view.rows)}};
  }

  ParamNext update(const ParamStep& s) const override {
    const MatrixView view = matrix_view(s.spec);
    const Value kept = 1.0 - pow(s.count, scalar_like(s.count, -config_.decay_exponent));
    const auto decayed = [&](Value old, Value now) { return old * kept + now * (1.0 - kept); };
    const Value squared = s.grad * s.grad + kTiny;
    std::vector<Value> next;
    Value change;
    if (factored(view)) {
      const Value rows = decayed(s.slots[0], mean(squared, view.columns));
      const Value columns = decayed(s.slots[1], mean(squared, view.rows));
      next = {rows, columns};
      // The mean over the rows of each matrix; with the columns gone, rows' places are others.
      const Value rows_kept = reshape_like(rows, s.spec, view.columns);
      const Value mean_kept = mean(rows_kept, view.rows, /*keepdims=*/true);
      change =
          s.grad * rsqrt(rows_kept / mean_kept) * rsqrt(reshape_like(columns, s.spec, view.rows));
    } else {
      const Value whole = decayed(s.slots[0], squared);
      next = {whole};
      change = s.grad * rsqrt(whole);
    }
    const std::vector<int> one_layer = view.matrix_dims();
    change = change / maximum(rms(change, one_layer) * (1 / kLargestUpdate), 1.0);
    change = change * maximum(rms(s.param, one_layer), kSmallestParam);
    return {decayed_update(s, change), next};
  }

 private:
  bool factored(const MatrixView& view) const {
    return view.is_matrix() &&
           std::min(view.row_count, view.column_count) >= config_.min_factored_dim;
  }

  // With the dropped dimensions back, of size 1.
  static Value reshape_like(Value x, const ParamSpec& spec, const std::vector<int>& dropped) {
    Dims dims = spec.dims;
    for (int dim : dropped) dims[dim] = 1;
    return reshape(x, dims);
  }

  const OptimizerConfig config_;
};

}  // namespace

std::unique_ptr<UpdateRule> adafactor_rule(const OptimizerConfig& config) {
  return std::make_unique<Adafactor>(config);
}

}  // namespace tessera
