#include "tessera/train/remat.h"

#include <algorithm>

#include "tessera/base/usage_error.h"

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

// With the name of the one product that gate and up may be, where either is named.
Names with_joined(Names names) {
  const auto has = [&](const char* name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (has("mlpwi_0") || has("mlpwi_1")) names.push_back("mlpwi");
  return names;
}

}  // namespace

const std::vector<std::string>& remat_policies() {
  static const std::vector<std::string> kPolicies = {
      "none", "save_dots", "minimal_with_context", "minimal", "save_qkv", "save_out", "full"};
  return kPolicies;
}

const std::vector<std::string>& offloading_policies() {
  static const std::vector<std::string> kPolicies = {"minimal_offloaded", "save_qkv_offloaded"};
  return kPolicies;
}

const std::vector<std::string>& named_activations() {
  static const std::vector<std::string> kNames =
      Names{"decoder_layer_input", "context"} + kQkv + kOut + kMlp;
  return kNames;
}

namespace {

bool offloads(const TrainingConfig& training) {
  const std::vector<std::string>& policies = offloading_policies();
  return !training.remat_offload_names.empty() ||
         std::find(policies.begin(), policies.end(), training.remat) != policies.end();
}

}  // namespace

Status check_offloading(const TrainingConfig& training, std::string_view platform) {
  if (!offloads(training) || platform != "cpu") return absl::OkStatus();
  const bool custom = training.remat == "custom";
  return usage_error(invalid_argument(
      custom ? "training.remat_offload_names" : str_cat("training.remat=", training.remat),
      " moves activations to the host's memory, but these devices are CPUs, which compute in that "
      "memory already: use ",
      custom ? "training.remat_names"
             : str_cat("training.remat=", training.remat.substr(0, training.remat.rfind('_'))),
      " instead"));
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
  if (name == "minimal_offloaded") options.policy = save_names({}, kQkv + kOut + kMlp);
  if (name == "save_qkv_offloaded") options.policy = save_names({}, kQkv);
  if (name == "custom")
    options.policy =
        save_names(with_joined(training.remat_names), with_joined(training.remat_offload_names));
  return options;
}

}  // namespace tessera
