#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/status.h"
#include "tessera/pjrt/compile_options.h"
#include "tessera/pjrt/executable.h"
#include "tessera/runtime/array.h"
#include "tessera/runtime/runtime.h"
#include "tessera/sharding/named_sharding.h"

namespace tessera {

struct CachedExecutable;

/// One argument or result of a program: its path in the caller's tree, and what it must be.
struct ProgramValue {
  std::string path;
  Shape shape;
  NamedSharding sharding;
  /// For arguments: the program takes the buffer over.
  bool donated = false;
};

/// A program as text, with what its caller must know of it.
struct Program {
  /// Names the program in messages.
  std::string name;
  /// A StableHLO module whose @main takes and gives these values, with the same shardings, and with
  /// tf.aliasing_output on exactly the donated arguments.
  std::string text;
  /// Its devices run the program; every sharding is over it.
  Mesh mesh;
  std::vector<ProgramValue> arguments;
  std::vector<ProgramValue> results;
  /// Debug options of XLA for this program alone.
  std::vector<pjrt::CompileOptions::Override> overrides;
};

/// A program compiled for the devices of its mesh. A handle, cheap to copy; safe to use from
/// several threads.
class CompiledFunction {
 public:
  /// Compiles the program, or finds it in the runtime's cache. On every platform max, min and clamp
  /// give NaN where they take one, unless an override says otherwise. Errors name the program. A
  /// process without a device in the mesh compiles nothing.
  static Result<CompiledFunction> compile(Runtime& runtime, Program program);

  /// Starts the program on all devices of this process and returns at once; the results become
  /// ready later and carry the error if the program fails while it runs. Donated arguments are gone
  /// afterwards, for every handle to them. Errors, before anything has started: a wrong number of
  /// arguments; an argument of another shape, dtype or sharding, or one that is gone, each named by
  /// its path; an array that is donated and also passed in another place. In a process without a
  /// device in the mesh nothing runs, and the results are arrays without parts.
  Result<std::vector<Array>> operator()(std::span<const Array> arguments) const;
  /// For the functions of this layer: starts the program on buffers, one list an argument's
  /// position in the mesh, in the order of local_positions(), one buffer an argument. Nothing is
  /// checked or claimed. [device][result], in the same order.
  Result<std::vector<std::vector<pjrt::Buffer>>> run(
      std::span<const std::vector<const pjrt::Buffer*>> inputs) const;
  /// Where the devices of this process stand in the mesh, ascending.
  std::vector<int64_t> local_positions() const;

  const std::string& name() const;
  const std::string& text() const;
  const Mesh& mesh() const;
  std::span<const ProgramValue> arguments() const;
  std::span<const ProgramValue> results() const;
  /// Whether a device of this process is in the mesh; else there is no executable.
  bool runs_here() const;
  /// Whether devices of several processes run it; false where none of this one does.
  bool spans_processes() const;
  /// Memory, cost and code, as the compiler planned them. Only where runs_here().
  const pjrt::Executable& executable() const;
  /// What compiling took, whenever that was; 0 where nothing runs.
  double compile_seconds() const;
  /// Whether compile() found it in the cache.
  bool was_cached() const;
  /// Calls so far.
  int64_t calls() const;

 private:
  struct State;
  explicit CompiledFunction(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

}  // namespace tessera
