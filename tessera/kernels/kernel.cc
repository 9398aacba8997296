#include "tessera/kernels/kernel.h"

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tessera/base/nearest.h"
#include "tessera/kernels/handlers_internal.h"
#include "tessera/pjrt/handlers.h"

namespace tessera {
namespace {

const Kernel* find_kernel(std::string_view name) {
  for (const Kernel& kernel : all_kernels()) {
    if (kernel.name == name) return &kernel;
  }
  return nullptr;
}

std::vector<std::string> kernel_names() {
  std::vector<std::string> names;
  for (const Kernel& kernel : all_kernels()) names.emplace_back(kernel.name);
  return names;
}

std::string why_not(const Kernel& kernel) {
  return kernel.why_not == nullptr ? "" : kernel.why_not();
}

Status register_handlers(const Kernel& kernel, const pjrt::Plugin& plugin) {
  for (const KernelHandler& handler : kernel.handlers)
    RETURN_IF_ERROR(pjrt::register_handler(plugin, handler.target, handler.handler, "Host"));
  return absl::OkStatus();
}

// What "auto" is where the environment says so.
constexpr char kVariable[] = "TESSERA_KERNELS";

Result<std::vector<const Kernel*>> named_kernels(std::string_view setting) {
  const char* variable = std::getenv(kVariable);
  if (setting == "auto" && variable != nullptr && std::string_view(variable) != "auto") {
    auto named = named_kernels(variable);
    return named.ok() ? named : annotate(named.status(), kVariable);
  }
  std::vector<const Kernel*> kernels;
  if (setting == "off") return kernels;
  if (setting == "auto") {
    for (const Kernel& kernel : all_kernels()) {
      if (why_not(kernel).empty()) kernels.push_back(&kernel);
    }
    return kernels;
  }
  const std::vector<std::string> names = absl::StrSplit(to_absl(setting), ',');
  for (const std::string& name : names) {
    const Kernel* kernel = find_kernel(name);
    if (kernel == nullptr) {
      const std::string near = nearest(name, kernel_names());
      return invalid_argument("kernels is '", setting, "': there is no kernel '", name, "'",
                              near.empty() ? "" : str_cat("; did you mean '", near, "'?"),
                              " Use auto, off, or some of ", absl::StrJoin(kernel_names(), ","));
    }
    kernels.push_back(kernel);
  }
  return kernels;
}

}  // namespace

std::span<const Kernel> all_kernels() {
  static const std::vector<Kernel> kTable = {matmul_kernel(),        attention_kernel(),
                                             rms_norm_kernel(),      swiglu_kernel(),
                                             cross_entropy_kernel(), adamw_kernel()};
  return kTable;
}

bool KernelChoice::has(std::string_view name) const {
  return std::any_of(kernels.begin(), kernels.end(),
                     [&](const Kernel* kernel) { return kernel->name == name; });
}

stablehlo::OpKernels KernelChoice::op_kernels() const {
  stablehlo::OpKernels result{.kernels = {}, .threads = threads};
  for (const Kernel* kernel : kernels) {
    if (kernel->op != nullptr) result.kernels.push_back(kernel->op);
  }
  return result;
}

std::string to_string(const KernelChoice& choice) {
  const auto add_name = [](std::string* out, const Kernel* kernel) { out->append(kernel->name); };
  return str_cat(
      "kernels: ", choice.kernels.empty() ? "none" : absl::StrJoin(choice.kernels, ", ", add_name),
      "; ", choice.threads, choice.threads == 1 ? " thread" : " threads", " a call");
}

Status check_kernels(std::string_view setting) { return named_kernels(setting).status(); }

Result<KernelChoice> choose_kernels(std::string_view setting, const pjrt::Client& client,
                                    int processes) {
  ASSIGN_OR_RETURN(std::vector<const Kernel*> wanted, named_kernels(setting));
  if (wanted.empty() || client.platform_name() != "cpu") return KernelChoice();
  KernelChoice choice;
  for (const Kernel* kernel : wanted) {
    const std::string reason = why_not(*kernel);
    if (!reason.empty()) {
      return failed_precondition("kernels is '", setting, "', but ", kernel->name,
                                 " cannot be used here: ", reason, "; use kernels=auto");
    }
    const Status registered = register_handlers(*kernel, client.plugin());
    if (absl::IsUnimplemented(registered) && setting == "auto") return KernelChoice();
    RETURN_IF_ERROR(registered);
    choice.kernels.push_back(kernel);
  }
  const auto devices = static_cast<int>(client.addressable_devices().size());
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  choice.threads = std::max(1, cores / std::max(1, devices * processes));
  return choice;
}

}  // namespace tessera
