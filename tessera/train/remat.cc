#include "tessera/train/remat.h"

namespace tessera {
namespace {

using Names = std::vector<std::string>;

Names operator+(Names a, const Names& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const Names kQkv = {"query_proj", "key_proj", "value_proj", "qkv_proj"};
const Names kOut = {"out_proj"};
const Names kMlp = {"mlpwi", "mlpwi_0", "mlpwi_1", "mlpwo"};

}  // namespace

const std::vector<std::string>& remat_policies() {
  static const std::vector<std::string> kPolicies = {
      "none", "save_dots", "minimal_with_context", "minimal", "save_qkv", "save_out", "full"};
  return kPolicies;
}

StackOptions stack_options(const TrainingConfig& training) {
  StackOptions options{.scan = training.scan_layers, .remat = true};
  const std::string& name = training.remat;
  if (name == "none") options.remat = false;
  if (name == "save_dots") options.policy = save_dots();
  if (name == "minimal") options.policy = save_names(kQkv + kOut + kMlp);
  if (name == "minimal_with_context")
    options.policy = save_names(kQkv + kOut + kMlp + Names{"context"});
  if (name == "save_qkv") options.policy = save_names(kQkv);
  if (name == "save_out") options.policy = save_names(kOut);
  if (name == "custom") options.policy = save_names(training.remat_names);
  return options;
}

}  // namespace tessera
