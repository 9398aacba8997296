#include "tessera/ops/elementwise.h"
#include "tessera/train/optimizer.h"

namespace tessera {
namespace {

class Sgd final : public UpdateRule {
 public:
  explicit Sgd(const OptimizerConfig& config)
      : config_(config), momentum_(config.resolved_momentum()) {}

  std::vector<Slot> slots(const std::string&, const ParamSpec& spec) const override {
    if (momentum_ == 0) return {};
    return {moment_slot("momentum", spec, config_)};
  }

  ParamNext update(const ParamStep& s) const override {
    if (momentum_ == 0) return {decayed_update(s, s.grad), {}};
    const Value running = s.slots[0] * momentum_ + s.grad;
    const Value change = config_.resolved_nesterov() ? running * momentum_ + s.grad : running;
    return {decayed_update(s, change), {running}};
  }

 private:
  const OptimizerConfig config_;
  const double momentum_;
};

}  // namespace

std::unique_ptr<UpdateRule> sgd_rule(const OptimizerConfig& config) {
  return std::make_unique<Sgd>(config);
}

}  // namespace tessera
