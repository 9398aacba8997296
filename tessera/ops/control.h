#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/ir/op.h"

namespace tessera {

// Control flow and its relatives. A body may use values from outside: they are captured, and
// gradients reach them too.

// ---- scan
// ------------------------------------------------------------------------------------------------------------

struct ScanOptions {
  int64_t length = -1;   ///< number of steps; needed only when there are no xs
  bool reverse = false;  ///< from the last slice to the first; ys keep the order of the xs
};
/// One step: (carry, slices of the xs) → (carry, ys), each a list. The carry keeps its shapes.
struct ScanStep {
  std::vector<Value> carry;
  std::vector<Value> ys;
};
using ScanBody =
    std::function<ScanStep(std::span<const Value> carry, std::span<const Value> slices)>;

/// Runs `body` over the leading dimension of the xs: x[n, ...] gives slices [...]; ys of shape
/// [...] come back as [n, ...]. The reverse pass is a scan in the other direction that keeps what
/// the gradient needs, and recomputes what is cheap (broadcasts, converts) or the same in each
/// step. Source: the semantics of jax.lax.scan.
ScanStep scan(const ScanBody& body, std::span<const Value> init, std::span<const Value> xs,
              const ScanOptions& options = {});

struct ScanAttrs {
  int carries = 0;
  int xs = 0;
  int64_t length = 0;
  bool reverse = false;
};
extern const OpDef
    kScan;  // operands and parameters: carries, xs (slices), invariants; results: carries, ys

// ---- while, cond
// -----------------------------------------------------------------------------------------------------

using WhileCondition = std::function<Value(std::span<const Value> state)>;
using WhileBody = std::function<std::vector<Value>(std::span<const Value> state)>;
/// Repeats `body` while `condition` gives true (a bool scalar). No reverse gradient: the number of
/// steps is unknown.
std::vector<Value> while_loop(const WhileCondition& condition, const WhileBody& body,
                              std::span<const Value> init);
struct WhileAttrs {
  int state = 0;
};
extern const OpDef kWhile;  // operands and both regions' parameters: state, invariants

using Branch = std::function<std::vector<Value>(std::span<const Value> operands)>;
/// Runs one of two branches by a bool scalar; both give the same shapes. The gradient runs the
/// branch again.
std::vector<Value> cond(Value predicate, const Branch& on_true, const Branch& on_false,
                        std::span<const Value> operands);
extern const OpDef kCond;  // operands: predicate, then the parameters of both regions

// ---- rematerialization
// -----------------------------------------------------------------------------------------------

/// What becomes of a result of a checkpointed function until the reverse pass needs it.
enum class Keep {
  kNot,       ///< it is computed again
  kOnDevice,  ///< it stays where it is
  kOnHost,    ///< it is copied to the host's memory, and back: only where the platform's compiler
              ///< moves values between memories (see transfer_to_memory)
};
using RematPolicy = std::function<Keep(const Node& node)>;
/// Keeps nothing: everything is recomputed from the arguments.
RematPolicy save_nothing();
/// Keeps the results of dot products.
RematPolicy save_dots();
/// Keeps values named by checkpoint_name with one of these names, those of the second list on the
/// host.
RematPolicy save_names(std::vector<std::string> on_device, std::vector<std::string> on_host = {});

/// f(args), with its intermediate results dropped after the forward pass and recomputed in the
/// reverse one.
std::vector<Value> checkpoint(const Branch& f, std::span<const Value> args,
                              RematPolicy policy = save_nothing());
/// Names a value for save_names. The identity otherwise.
Value checkpoint_name(Value x, std::string name);

struct CheckpointAttrs {
  RematPolicy policy;
};
struct NameAttrs {
  std::string name;
};
extern const OpDef kCheckpoint;
extern const OpDef kCheckpointName;

inline constexpr std::string_view kDeviceMemory = "device";
inline constexpr std::string_view kPinnedHostMemory = "pinned_host";
/// The same value in another of the device's memories, named as PJRT names its kind. A hint for
/// compilers that move values between memories, as XLA's for GPU and TPU do; the CPU's does not
/// know it, and refuses the program.
Value transfer_to_memory(Value x, std::string_view kind);
extern const OpDef kTransferToMemory;  // NameAttrs: the memory's kind

// ---- custom gradients, custom calls, barriers
// ------------------------------------------------------------------------

/// (arguments, results, cotangents of the results) → cotangents of the arguments.
using CustomVjp =
    std::function<std::vector<Value>(std::span<const Value> args, std::span<const Value> results,
                                     std::span<const Value> cotangents)>;
/// f(args) whose gradient is `vjp`. f may use values from outside only where they need no gradient.
std::vector<Value> custom_gradient(const Branch& f, CustomVjp vjp, std::span<const Value> args);
struct CustomGradientAttrs {
  CustomVjp vjp;
  int args = 0;
};
extern const OpDef kCustomGradient;

struct CustomCallAttrs {
  std::string target;          ///< the name that an FFI handler is registered under
  std::string backend_config;  ///< attributes of the handler as an MLIR dictionary: "{kc = 512 :
                               ///< i64}"; may be empty
  std::vector<Shape> results;
  bool has_side_effect = false;
  /// Results that are written over operands: (result, operand). The operand must not be needed by
  /// what does not come before the call; else it is copied.
  std::vector<std::pair<int, int>> aliases = {};
};
/// A call of an FFI handler (api version 4). No gradient of its own: wrap it in custom_gradient.
std::vector<Value> custom_call(std::span<const Value> args, CustomCallAttrs attrs);
extern const OpDef kCustomCall;

/// The same values, which the compiler may not move operations across, nor merge with others.
std::vector<Value> optimization_barrier(std::span<const Value> values);
extern const OpDef kOptimizationBarrier;

}  // namespace tessera
