#include "tessera/runtime/compiled_function.h"

#include <algorithm>
#include <functional>

#include "tessera/runtime/executable_cache.h"
#include "tessera/runtime/launch_order.h"
#include "tessera/runtime/thread_guard.h"
#include "tessera/runtime/timeline.h"

namespace tessera {

struct CompiledFunction::State {
  std::shared_ptr<DispatchState> dispatch;
  Program program;
  ExecutableCache::Lookup compiled = {};  // null where no device is of this process
  /// The mesh position of each of the executable's devices, in its order.
  std::vector<int64_t> positions;
  /// Which of an array's pieces, which stand by ascending position, belongs to each of these
  /// devices.
  std::vector<size_t> piece_of_device;
  /// Whether devices of several processes run it, and then what it is to the check of their order,
  /// if there is one.
  bool spans_processes = false;
  const LaunchOrder::Program* ordered = nullptr;
  std::atomic<int64_t> calls = 0;

  Status begin_launch() const;
  Result<std::vector<Array>> launch(std::span<const Array> arguments) const;
  /// By the executable's devices.
  Result<pjrt::ExecuteResult> execute(
      std::span<const std::vector<const pjrt::Buffer*>> inputs) const;
  std::shared_ptr<Timeline::Span> begin_span(
      Timeline& timeline, std::span<const std::vector<const pjrt::Buffer*>> inputs) const;
};

namespace {

Status check_values(const Program& program, std::span<const ProgramValue> values) {
  for (const ProgramValue& value : values) {
    if (!(value.sharding.mesh() == program.mesh)) {
      return invalid_argument("'", value.path, "' is laid out over another mesh (",
                              to_string(value.sharding.mesh()), ") than the program's (",
                              to_string(program.mesh), ")");
    }
    RETURN_IF_ERROR(annotate(value.sharding.check(value.shape), str_cat("'", value.path, "'")));
  }
  return absl::OkStatus();
}

/// The plugin's word for what each device returns against ours.
Status check_results(const Program& program, const pjrt::Executable& executable) {
  if (executable.num_outputs() != program.results.size()) {
    return invalid_argument("the module returns ", executable.num_outputs(),
                            " results, described are ", program.results.size());
  }
  const auto shapes = executable.output_shapes();
  if (!shapes.ok()) return absl::OkStatus();  // not every plugin tells
  for (size_t i = 0; i < shapes->size(); ++i) {
    const ProgramValue& result = program.results[i];
    const Shape required = result.sharding.shard_shape(result.shape);
    if ((*shapes)[i] != required) {
      return invalid_argument("result '", result.path, "': the module gives each device ",
                              to_string((*shapes)[i]), ", described is ", to_string(required),
                              " of ", describe(result.shape, result.sharding));
    }
  }
  return absl::OkStatus();
}

/// By default XLA:CPU's max and min may drop a NaN, which StableHLO's do not, and which would hide
/// that a run has gone wrong. JAX compiles with the same setting.
std::vector<pjrt::CompileOptions::Override> default_overrides(const pjrt::Client& client) {
  if (client.platform_name() != "cpu") return {};
  return {{"xla_cpu_enable_fast_min_max", false}};
}

Result<std::vector<int64_t>> mesh_positions(const Mesh& mesh,
                                            std::span<const pjrt::Device> devices) {
  std::vector<int64_t> positions;
  for (const pjrt::Device& device : devices) {
    const auto ids = mesh.device_ids();
    const auto found = std::find(ids.begin(), ids.end(), device.id());
    if (found == ids.end())
      return internal_error("runs on device ", device.id(), " outside its mesh");
    positions.push_back(found - ids.begin());
  }
  return positions;
}

Status check_argument(const ProgramValue& required, const Array& got) {
  if (!got.defined()) return invalid_argument("no array was passed");
  RETURN_IF_ERROR(got.check_alive());
  if (got.shape() == required.shape && got.sharding() == required.sharding) return absl::OkStatus();
  const bool same_mesh = got.sharding().mesh() == required.sharding.mesh();
  return invalid_argument(
      "got ", describe(got.shape(), got.sharding()),
      same_mesh ? "" : str_cat(" over ", to_string(got.sharding().mesh())), ", required ",
      describe(required.shape, required.sharding),
      same_mesh ? "" : str_cat(" over ", to_string(required.sharding.mesh())),
      got.shape() == required.shape ? "; device_put lays an array out anew" : "");
}

// A call of one program that lacks them would read what is not there.
Status check_parts(const ProgramValue& required, const Array& got, size_t devices) {
  if (got.pieces().size() == devices) return absl::OkStatus();
  return invalid_argument("array ", describe(got.shape(), got.sharding()), " has parts on ",
                          got.pieces().size(), " devices of this process, of which ", devices,
                          " are in the mesh ", to_string(required.sharding.mesh()));
}

std::vector<size_t> ranks(const std::vector<int64_t>& positions) {
  std::vector<size_t> result;
  for (int64_t position : positions) {
    result.push_back(std::count_if(positions.begin(), positions.end(),
                                   [&](int64_t other) { return other < position; }));
  }
  return result;
}

/// Arguments that a call has claimed; they are given back unless the call happens.
class Claims {
 public:
  ~Claims() {
    for (Array& array : arrays_) array.unclaim();
  }
  Status claim(Array array, std::string consumer) {
    RETURN_IF_ERROR(array.claim(std::move(consumer)));
    arrays_.push_back(std::move(array));
    return absl::OkStatus();
  }
  void keep() { arrays_.clear(); }

 private:
  std::vector<Array> arrays_;
};

}  // namespace

Result<CompiledFunction> CompiledFunction::compile(Runtime& runtime, Program program) {
  const std::string context = str_cat("program '", program.name, "'");
  RETURN_IF_ERROR(annotate(check_values(program, program.arguments), context + ": argument"));
  RETURN_IF_ERROR(annotate(check_values(program, program.results), context + ": result"));
  pjrt::CompileOptions options;
  ASSIGN_OR_RETURN(const auto devices, runtime.local_devices(program.mesh));
  if (devices.empty()) {
    return CompiledFunction(std::make_shared<State>(runtime.dispatch(), std::move(program)));
  }
  options.device_ids.assign(program.mesh.device_ids().begin(), program.mesh.device_ids().end());
  options.overrides = default_overrides(runtime.client());
  options.overrides.insert(options.overrides.end(), program.overrides.begin(),
                           program.overrides.end());
  auto compiled = runtime.executables().get(program.text, options);
  RETURN_IF_ERROR(annotate(compiled.status(), context + ": compilation"));
  const pjrt::Executable& executable = compiled->program->executable;
  RETURN_IF_ERROR(annotate(check_results(program, executable), context));
  ASSIGN_OR_RETURN(auto positions, mesh_positions(program.mesh, executable.devices()));
  auto state = std::make_shared<State>(runtime.dispatch(), std::move(program), *std::move(compiled),
                                       positions, ranks(positions));
  ASSIGN_OR_RETURN(const std::vector<int64_t> processes, runtime.processes(state->program.mesh));
  state->spans_processes = std::adjacent_find(processes.begin(), processes.end(),
                                              std::not_equal_to<>()) != processes.end();
  if (state->spans_processes && runtime.launch_order() != nullptr) {
    const Program& added = state->program;
    state->ordered = runtime.launch_order()->add(added.name, added.text, added.mesh, processes);
  }
  return CompiledFunction(std::move(state));
}

Result<std::vector<Array>> CompiledFunction::operator()(std::span<const Array> arguments) const {
  const Program& program = state_->program;
  if (arguments.size() != program.arguments.size()) {
    return invalid_argument("call of '", program.name, "': got ", arguments.size(),
                            " arguments, required ", program.arguments.size());
  }
  const auto argument_error = [&](size_t i, const Status& status) {
    return annotate(status, str_cat("call of '", program.name, "': argument '",
                                    program.arguments[i].path, "'"));
  };
  for (size_t i = 0; i < arguments.size(); ++i) {
    RETURN_IF_ERROR(argument_error(i, check_argument(program.arguments[i], arguments[i])));
    RETURN_IF_ERROR(argument_error(
        i, check_parts(program.arguments[i], arguments[i], state_->positions.size())));
  }
  const int64_t call = ++state_->calls;
  Claims claims;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!program.arguments[i].donated) continue;
    RETURN_IF_ERROR(argument_error(
        i, claims.claim(arguments[i], str_cat("argument '", program.arguments[i].path, "' to call ",
                                              call, " of '", program.name, "'"))));
  }
  // Again, since the call itself may have claimed what it also reads.
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (program.arguments[i].donated) continue;
    RETURN_IF_ERROR(argument_error(i, arguments[i].check_alive()));
  }
  auto results = state_->launch(arguments);
  RETURN_IF_ERROR(annotate(results.status(), str_cat("call of '", program.name, "'")));
  claims.keep();
  return results;
}

Result<std::vector<Array>> CompiledFunction::State::launch(std::span<const Array> arguments) const {
  std::vector<std::vector<const pjrt::Buffer*>> inputs(positions.size());
  for (const Array& argument : arguments) {
    const auto pieces = argument.pieces();
    for (size_t device = 0; device < positions.size(); ++device) {
      inputs[device].push_back(&pieces[piece_of_device[device]].buffer);
    }
  }
  pjrt::ExecuteResult executed;
  if (!positions.empty()) {
    ASSIGN_OR_RETURN(executed, execute(inputs));
  }
  std::vector<Array> results;
  for (size_t i = 0; i < program.results.size(); ++i) {
    std::vector<Array::Piece> pieces(positions.size());
    for (size_t device = 0; device < positions.size(); ++device) {
      pieces[piece_of_device[device]] = {positions[device], std::move(executed.outputs[device][i])};
    }
    const ProgramValue& result = program.results[i];
    results.push_back(Array::from_pieces(result.shape, result.sharding, std::move(pieces),
                                         dispatch->launch_order));
  }
  return results;
}

Result<pjrt::ExecuteResult> CompiledFunction::State::execute(
    std::span<const std::vector<const pjrt::Buffer*>> inputs) const {
  const std::shared_ptr<Timeline> timeline = dispatch->timeline;
  std::shared_ptr<Timeline::Span> span;
  if (timeline != nullptr) span = begin_span(*timeline, inputs);
  const auto launch = [&]() -> Result<pjrt::ExecuteResult> {
    std::unique_lock order(dispatch->order, std::defer_lock);
    if (program.mesh.size() > 1) order.lock();
    RETURN_IF_ERROR(begin_launch());
    auto executed = compiled.program->executable.execute(inputs);
    if (!executed.ok() && ordered != nullptr) dispatch->launch_order->withdraw();
    return executed;
  };
  auto executed = launch();
  if (span != nullptr)
    timeline->end(span, executed.ok() ? std::span<const pjrt::Event>(executed->done)
                                      : std::span<const pjrt::Event>());
  if (executed.ok()) ++dispatch->dispatches;
  if (!executed.ok() && ordered != nullptr)
    return dispatch->launch_order->explain(executed.status());
  return executed;
}

std::shared_ptr<Timeline::Span> CompiledFunction::State::begin_span(
    Timeline& timeline, std::span<const std::vector<const pjrt::Buffer*>> inputs) const {
  Timeline::Launch launch{program.name, calls, {}};
  for (int64_t position : positions)
    launch.device_ids.push_back(program.mesh.device_ids()[position]);
  std::vector<const pjrt::Buffer*> arguments;
  for (const auto& device : inputs) arguments.insert(arguments.end(), device.begin(), device.end());
  return timeline.begin(std::move(launch), arguments);
}

Result<std::vector<std::vector<pjrt::Buffer>>> CompiledFunction::run(
    std::span<const std::vector<const pjrt::Buffer*>> inputs) const {
  ++state_->calls;
  const auto& rank = state_->piece_of_device;
  std::vector<std::vector<const pjrt::Buffer*>> ordered;
  for (size_t device = 0; device < rank.size(); ++device) ordered.push_back(inputs[rank[device]]);
  auto executed = state_->execute(ordered);
  RETURN_IF_ERROR(annotate(executed.status(), str_cat("call of '", state_->program.name, "'")));
  std::vector<std::vector<pjrt::Buffer>> results(rank.size());
  for (size_t device = 0; device < rank.size(); ++device)
    results[rank[device]] = std::move(executed->outputs[device]);
  return results;
}

std::vector<int64_t> CompiledFunction::local_positions() const {
  std::vector<int64_t> result = state_->positions;
  std::sort(result.begin(), result.end());
  return result;
}

// Asked while the order of launches is locked.
Status CompiledFunction::State::begin_launch() const {
  if (spans_processes) RETURN_IF_ERROR(ThreadGuard::check_launch(program.name));
  return ordered == nullptr ? absl::OkStatus() : dispatch->launch_order->begin(*ordered);
}

const std::string& CompiledFunction::name() const { return state_->program.name; }
const std::string& CompiledFunction::text() const { return state_->program.text; }
const Mesh& CompiledFunction::mesh() const { return state_->program.mesh; }
std::span<const ProgramValue> CompiledFunction::arguments() const {
  return state_->program.arguments;
}
std::span<const ProgramValue> CompiledFunction::results() const { return state_->program.results; }
bool CompiledFunction::runs_here() const { return state_->compiled.program != nullptr; }
bool CompiledFunction::spans_processes() const { return state_->spans_processes; }
const pjrt::Executable& CompiledFunction::executable() const {
  CHECK_MSG(runs_here(), "no device of this process runs the program");
  return state_->compiled.program->executable;
}
double CompiledFunction::compile_seconds() const {
  return runs_here() ? state_->compiled.program->compile_seconds : 0;
}
bool CompiledFunction::was_cached() const { return state_->compiled.hit; }
int64_t CompiledFunction::calls() const { return state_->calls; }

}  // namespace tessera
