#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/ir/op.h"

namespace tessera::stablehlo {

/// A call of an FFI handler (api version 4) in an op's place.
struct KernelCall {
  std::string target;          ///< the name that the handler is registered under
  std::string backend_config;  ///< its attributes, an MLIR dictionary
};

/// A number for each dim of each operand and of the result: dims of one number have one size and
/// are split alike. What stands in operands only is summed over.
struct DimLabels {
  std::vector<std::vector<int>> operands;
  std::vector<int> result;
};

/// Code outside XLA that computes an op of one result. Its plain twin is the op's emitter, which
/// prints whatever the kernel does not take, and everything where no kernel is chosen.
struct OpKernel {
  std::string_view name;
  const OpDef* op;
  /// The call for `node` on operands and result of these shapes, which on a mesh are a device's
  /// own; nothing where the kernel does not take them. `threads`: how many a call may use.
  std::optional<KernelCall> (*call)(const Node& node, std::span<const Shape> operands,
                                    const Shape& result, int threads);
  /// How the dims hang together, for which part a device computes.
  DimLabels (*labels)(const Node& node, std::span<const Shape> operands);
};

/// The kernels that a program is printed with.
struct OpKernels {
  std::vector<const OpKernel*> kernels;
  int threads = 1;  ///< of a call

  const OpKernel* find(const OpDef* op) const;
};

}  // namespace tessera::stablehlo
