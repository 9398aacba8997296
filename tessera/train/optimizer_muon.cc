#include <algorithm>
#include <cmath>
#include <regex>

#include "tessera/nn/matrix_view.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/shape.h"
#include "tessera/train/optimizer.h"

// Shapes: N matrices of a stack, R rows, C columns.

namespace tessera {
namespace {

// A quintic a x + b x^3 + c x^5 that drives singular values in (0, 1] towards 1, chosen by Jordan
// for its slope at 0.
constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;

// The nearest orthogonal matrix to each, roughly: singular values end between 0.7 and 1.2.
Value orthogonalized(Value x_NRC, double epsilon, int64_t steps) {
  const bool tall = x_NRC.dim(1) > x_NRC.dim(2);  // the products are of the smaller size
  Value x = tall ? swap_dims(x_NRC, 1, 2) : x_NRC;
  // So that no singular value is above 1.
  x = x / (sqrt(sum(x * x, {1, 2}, /*keepdims=*/true)) + epsilon);
  for (int64_t i = 0; i < steps; ++i) {
    const Value square = einsum("nrc,nsc->nrs", {x, x});
    const Value factor = square * kB + matmul(square, square) * kC;
    x = x * kA + matmul(factor, x);
  }
  return tall ? swap_dims(x, 1, 2) : x;
}

class Muon final : public UpdateRule {
 public:
  explicit Muon(const OptimizerConfig& config)
      : config_(config), adamw_params_(config.adamw_params), adamw_(adamw_rule(config)) {}

  std::vector<Slot> slots(const std::string& path, const ParamSpec& spec) const override {
    if (!orthogonalizes(path, spec)) return adamw_->slots(path, spec);
    return {moment_slot("momentum", spec, config_)};
  }

  ParamNext update(const ParamStep& s) const override {
    if (!orthogonalizes(s.path, s.spec)) return adamw_->update(s);
    const double beta = config_.resolved_momentum();
    const Value running = s.slots[0] * beta + s.grad * (1 - beta);
    const auto seen = [&](Value count) { return 1.0 - pow(scalar_like(s.count, beta), count); };
    Value direction = running;  // its size does not matter
    if (config_.resolved_nesterov()) {
      direction = running / seen(s.count + 1.0) * beta + s.grad / seen(s.count) * (1 - beta);
    }
    const MatrixView view = matrix_view(s.spec);
    const Dims matrices = {view.batch_count, view.row_count, view.column_count};
    const Value update_NRC =
        orthogonalized(reshape(direction, matrices), config_.epsilon, config_.newton_schulz_steps);
    return {decayed_update(s, reshape(update_NRC, s.spec.dims) * scale(view)), {running}};
  }

 private:
  bool orthogonalizes(const std::string& path, const ParamSpec& spec) const {
    if (!matrix_view(spec).is_matrix()) return false;
    return config_.adamw_params.empty() || !std::regex_search(path, adamw_params_);
  }

  // An orthogonal matrix of R rows and C columns has a root mean square of 1 / sqrt(max(R, C)).
  double scale(const MatrixView& view) const {
    const auto rows = static_cast<double>(view.row_count);
    const auto columns = static_cast<double>(view.column_count);
    if (config_.update_rms) return *config_.update_rms * std::sqrt(std::max(rows, columns));
    return std::sqrt(std::max(1.0, columns / rows));
  }

  const OptimizerConfig config_;
  const std::regex adamw_params_;
  const std::unique_ptr<UpdateRule> adamw_;
};

}  // namespace

std::unique_ptr<UpdateRule> muon_rule(const OptimizerConfig& config) {
  return std::make_unique<Muon>(config);
}

}  // namespace tessera
