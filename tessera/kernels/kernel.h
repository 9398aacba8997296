#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/status.h"
#include "tessera/pjrt/client.h"
#include "tessera/stablehlo/kernel.h"

namespace tessera {

/// A handler that programs call, and its name.
struct KernelHandler {
  std::string_view target;
  void* handler;  ///< XLA_FFI_Handler*
};

/// One entry of the table: code of ours that XLA's CPU programs call where it is faster than what
/// XLA makes of the same ops. Its plain twin serves everywhere else, and is the oracle of its
/// tests.
struct Kernel {
  std::string_view name;      ///< what `kernels` of a recipe calls it
  std::string_view replaces;  ///< the ops, in words
  std::string_view takes;     ///< shapes and dtypes, and how it is split over a mesh
  std::vector<KernelHandler> handlers;
  /// Where one op is replaced as programs are printed; else null, and nn builds the call.
  const stablehlo::OpKernel* op = nullptr;
  /// Why it would do nothing on this machine; empty: it applies, perhaps with a restriction, which
  /// `restriction` names.
  std::string (*why_not)() = nullptr;
  std::string (*restriction)() = nullptr;
};

/// All there are.
std::span<const Kernel> all_kernels();

/// The kernels of a run.
struct KernelChoice {
  std::vector<const Kernel*> kernels;
  int threads = 1;  ///< that a call may use

  bool has(std::string_view name) const;
  /// Those that replace ops as a program is printed.
  stablehlo::OpKernels op_kernels() const;
};

/// "kernels: matmul; 2 threads a call".
std::string to_string(const KernelChoice& choice);

/// What `kernels: auto|off|name,name` means. An unknown name is an error that names the nearest.
/// Where the environment variable TESSERA_KERNELS is set, it says what auto is.
Status check_kernels(std::string_view setting);

/// The kernels of a setting that apply to the devices of a client, registered with its plugin:
/// none where its platform is not cpu or it takes no handlers; with auto those that apply here. A
/// kernel that is asked for by name and does not apply is an error. A call may use cores / devices
/// of this process; `processes`: how many share the machine.
Result<KernelChoice> choose_kernels(std::string_view setting, const pjrt::Client& client,
                                    int processes = 1);

}  // namespace tessera
