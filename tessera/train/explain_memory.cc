#include "tessera/train/explain_memory.h"

#include "absl/strings/str_format.h"
#include "tessera/base/format.h"
#include "tessera/base/log.h"
#include "tessera/train/compile.h"
#include "tessera/train/graph_flop.h"
#include "tessera/train/remat.h"

namespace tessera {
namespace {

struct Cost {
  pjrt::CompiledMemoryStats memory;
  double flop = 0;
};

Result<Cost> cost_of(Session& session, const std::string& policy) {
  RunConfig config = session.config;
  config.training.remat = policy;
  ASSIGN_OR_RETURN(const TracedProgram program,
                   trace_train_step(*session.model, config, &session.layout));
  ASSIGN_OR_RETURN(const CompiledFunction step,
                   compile_program(*session.runtime, program, "train_step", session.layout));
  Cost cost;
  ASSIGN_OR_RETURN(cost.memory, step.executable().memory_stats());
  cost.flop = matrix_flop(*program.graph);
  return cost;
}

}  // namespace

Result<std::string> explain_memory(Session& session) {
  const std::string platform(session.runtime->client().platform_name());
  RETURN_IF_ERROR(check_offloading(session.config.training, platform));
  std::vector<std::string> policies = remat_policies();
  for (const std::string& policy : offloading_policies()) {
    TrainingConfig offloading = session.config.training;
    offloading.remat = policy;
    if (check_offloading(offloading, platform).ok()) policies.push_back(policy);
  }
  const std::string& chosen = session.config.training.remat;
  if (chosen == "custom") policies.push_back(chosen);
  TextTable table({false, true, true, true});
  table.add({"training.remat", "temporary a device", "TFLOP a step", "extra"});
  double least = 0;
  double arguments = 0;
  for (const std::string& policy : policies) {
    log_info("compiling with training.remat=", policy);
    ASSIGN_OR_RETURN(const Cost cost, cost_of(session, policy));
    if (policy == "none") least = cost.flop;
    arguments = static_cast<double>(cost.memory.argument_bytes);
    table.add({str_cat(policy, policy == chosen ? " (chosen)" : ""),
               bytes_text(static_cast<double>(cost.memory.temp_bytes)),
               absl::StrFormat("%.4g", cost.flop / 1e12),
               absl::StrFormat("%+.1f %%", 100 * (cost.flop / least - 1))});
  }
  return str_cat("state and batch a device: ", bytes_text(arguments), "\n", table.text(0));
}

}  // namespace tessera
