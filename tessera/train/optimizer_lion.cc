#include "tessera/ops/elementwise.h"
#include "tessera/train/optimizer.h"

namespace tessera {
namespace {

class Lion final : public UpdateRule {
 public:
  explicit Lion(const OptimizerConfig& config) : config_(config) {}

  std::vector<Slot> slots(const std::string&, const ParamSpec& spec) const override {
    return {moment_slot("mu", spec, config_)};
  }

  ParamNext update(const ParamStep& s) const override {
    const double b2 = config_.resolved_b2();
    const Value change = sign(s.slots[0] * config_.b1 + s.grad * (1 - config_.b1));
    return {decayed_update(s, change), {s.slots[0] * b2 + s.grad * (1 - b2)}};
  }

 private:
  const OptimizerConfig config_;
};

}  // namespace

std::unique_ptr<UpdateRule> lion_rule(const OptimizerConfig& config) {
  return std::make_unique<Lion>(config);
}

}  // namespace tessera
