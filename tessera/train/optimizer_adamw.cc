#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise.h"
#include "tessera/train/fused_adamw.h"
#include "tessera/train/optimizer.h"

namespace tessera {
namespace {

class Adamw final : public UpdateRule {
 public:
  explicit Adamw(const OptimizerConfig& config) : config_(config), b2_(config.resolved_b2()) {}

  std::vector<Slot> slots(const std::string&, const ParamSpec& spec) const override {
    return {moment_slot("mu", spec, config_), moment_slot("nu", spec, config_)};
  }

  ParamNext update(const ParamStep& s) const override {
    if (can_fuse_adamw(config_, s.kernels)) return fused_adamw(s, config_, *s.kernels);
    // 1 - b^count: what the moments, which began at zero, have seen of the whole weight.
    const Value mu_seen = 1.0 - pow(scalar_like(s.count, config_.b1), s.count);
    const Value nu_seen = 1.0 - pow(scalar_like(s.count, b2_), s.count);
    const Value mu = s.slots[0] * config_.b1 + s.grad * (1 - config_.b1);
    const Value nu = s.slots[1] * b2_ + s.grad * s.grad * (1 - b2_);
    const Value change = (mu / mu_seen) / (sqrt(nu / nu_seen) + config_.epsilon);
    return {decayed_update(s, change), {mu, nu}};
  }

 private:
  const OptimizerConfig config_;
  const double b2_;
};

}  // namespace

std::unique_ptr<UpdateRule> adamw_rule(const OptimizerConfig& config) {
  return std::make_unique<Adamw>(config);
}

}  // namespace tessera
