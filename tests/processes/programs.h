#pragma once

#include <memory>
#include <string>

#include "tessera/runtime/jit.h"
#include "tests/processes/processes.h"

/// Runtimes and programs of tests over several processes.
namespace tessera::process_testing {

/// A runtime over the devices of all processes, as a run makes it.
Result<std::unique_ptr<Runtime>> make_runtime(Member& member, bool check_launch_order = true);

/// x f32[devices,width], a row a device → the sum of its rows, f32[width], on every device: devices
/// wait for each other.
Result<CompiledFunction> sum_rows(Runtime& runtime, const Mesh& mesh, const std::string& name,
                                  int64_t width = 4);

/// The argument of sum_rows(): all ones.
Result<Array> ones(Runtime& runtime, const CompiledFunction& function);

/// Calls it and waits for the result.
Status run(const CompiledFunction& function, const Array& x);

}  // namespace tessera::process_testing
