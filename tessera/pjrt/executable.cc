#include "tessera/pjrt/executable.h"

#include <utility>

#include "tessera/base/strings.h"
#include "tessera/pjrt/api_internal.h"
#include "tessera/pjrt/element_type_internal.h"
#include "tessera/pjrt/named_value_internal.h"

namespace tessera::pjrt {

Executable::Executable(std::shared_ptr<const ClientHandle> client, PJRT_LoadedExecutable* loaded)
    : client_(std::move(client)), loaded_(loaded) {}

Result<Executable> Executable::adopt(std::shared_ptr<const ClientHandle> client,
                                     PJRT_LoadedExecutable* loaded) {
  Executable executable(std::move(client), loaded);
  RETURN_IF_ERROR(executable.describe());
  return executable;
}

Executable::Executable(Executable&& other) noexcept
    : client_(std::move(other.client_)),
      loaded_(std::exchange(other.loaded_, nullptr)),
      executable_(std::exchange(other.executable_, nullptr)),
      devices_(std::move(other.devices_)),
      num_outputs_(other.num_outputs_) {}

Executable& Executable::operator=(Executable&& other) noexcept {
  std::swap(client_, other.client_);
  std::swap(loaded_, other.loaded_);
  std::swap(executable_, other.executable_);
  std::swap(devices_, other.devices_);
  std::swap(num_outputs_, other.num_outputs_);
  return *this;
}

Executable::~Executable() {
  if (executable_ != nullptr) {
    PJRT_ARGS(PJRT_Executable_Destroy, args);
    args.executable = executable_;
    PJRT_CALL(client_->api, PJRT_Executable_Destroy, args).IgnoreError();
  }
  if (loaded_ != nullptr) {
    PJRT_ARGS(PJRT_LoadedExecutable_Destroy, args);
    args.executable = loaded_;
    PJRT_CALL(client_->api, PJRT_LoadedExecutable_Destroy, args).IgnoreError();
  }
}

Status Executable::describe() {
  PJRT_ARGS(PJRT_LoadedExecutable_GetExecutable, get);
  get.loaded_executable = loaded_;
  RETURN_IF_ERROR(PJRT_CALL(client_->api, PJRT_LoadedExecutable_GetExecutable, get));
  executable_ = get.executable;
  PJRT_ARGS(PJRT_Executable_NumOutputs, outputs);
  outputs.executable = executable_;
  RETURN_IF_ERROR(PJRT_CALL(client_->api, PJRT_Executable_NumOutputs, outputs));
  num_outputs_ = outputs.num_outputs;
  PJRT_ARGS(PJRT_LoadedExecutable_AddressableDevices, devices);
  devices.executable = loaded_;
  RETURN_IF_ERROR(PJRT_CALL(client_->api, PJRT_LoadedExecutable_AddressableDevices, devices));
  for (size_t i = 0; i < devices.num_addressable_devices; ++i) {
    ASSIGN_OR_RETURN(Device device, Device::describe(client_->api, devices.addressable_devices[i]));
    devices_.push_back(device);
  }
  return absl::OkStatus();
}

Result<ExecuteResult> Executable::execute(std::span<const std::vector<const Buffer*>> arguments,
                                          const ExecuteOptions& options) const {
  if (arguments.size() != devices_.size()) {
    return invalid_argument("program ", name(), " runs on ", devices_.size(),
                            " devices of this process, got arguments for ", arguments.size());
  }
  std::vector<std::vector<PJRT_Buffer*>> inputs(devices_.size());
  std::vector<std::vector<PJRT_Buffer*>> outputs(devices_.size());
  std::vector<PJRT_Buffer* const*> input_lists;
  std::vector<PJRT_Buffer**> output_lists;
  for (size_t i = 0; i < devices_.size(); ++i) {
    if (arguments[i].size() != arguments[0].size()) {
      return invalid_argument("program ", name(), ": ", arguments[i].size(),
                              " arguments for device ", devices_[i].id(), ", ", arguments[0].size(),
                              " for the first");
    }
    for (const Buffer* buffer : arguments[i]) inputs[i].push_back(buffer->handle());
    outputs[i].resize(num_outputs_);
    input_lists.push_back(inputs[i].data());
    output_lists.push_back(outputs[i].data());
  }
  std::vector<PJRT_Event*> events(devices_.size());

  PJRT_ExecuteOptions c_options = {};
  c_options.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE;
  c_options.launch_id = options.launch_id;
  c_options.non_donatable_input_indices = options.keep_arguments.data();
  c_options.num_non_donatable_input_indices = options.keep_arguments.size();
  PJRT_ARGS(PJRT_LoadedExecutable_Execute, args);
  args.executable = loaded_;
  args.options = &c_options;
  args.argument_lists = input_lists.data();
  args.num_devices = devices_.size();
  args.num_args = arguments.empty() ? 0 : arguments[0].size();
  args.output_lists = output_lists.data();
  args.device_complete_events = events.data();
  RETURN_IF_ERROR(PJRT_CALL(client_->api, PJRT_LoadedExecutable_Execute, args));

  ExecuteResult result;
  for (size_t i = 0; i < devices_.size(); ++i) {
    std::vector<Buffer>& buffers = result.outputs.emplace_back();
    for (PJRT_Buffer* buffer : outputs[i]) buffers.emplace_back(client_, buffer);
    result.done.emplace_back(client_->api, events[i]);
  }
  return result;
}

Result<std::vector<Shape>> Executable::output_shapes() const {
  PJRT_ARGS(PJRT_Executable_OutputElementTypes, types);
  types.executable = executable_;
  RETURN_IF_ERROR(PJRT_CALL(client_->api, PJRT_Executable_OutputElementTypes, types));
  PJRT_ARGS(PJRT_Executable_OutputDimensions, dims);
  dims.executable = executable_;
  RETURN_IF_ERROR(PJRT_CALL(client_->api, PJRT_Executable_OutputDimensions, dims));
  if (types.num_output_types != dims.num_outputs) {
    return internal_error("program ", name(), " tells ", types.num_output_types,
                          " output types but ", dims.num_outputs, " output shapes");
  }
  std::vector<Shape> shapes;
  const int64_t* next = dims.dims;
  for (size_t i = 0; i < dims.num_outputs; ++i) {
    ASSIGN_OR_RETURN(DType dtype, from_c(types.output_types[i]));
    shapes.push_back(Shape{dtype, Dims(next, next + dims.dim_sizes[i])});
    next += dims.dim_sizes[i];
  }
  return shapes;
}

std::string Executable::name() const {
  PJRT_ARGS(PJRT_Executable_Name, args);
  args.executable = executable_;
  if (!PJRT_CALL(client_->api, PJRT_Executable_Name, args).ok()) return "(unnamed)";
  return std::string(args.executable_name, args.executable_name_size);
}

Result<CompiledMemoryStats> Executable::memory_stats() const {
  PJRT_ARGS(PJRT_Executable_GetCompiledMemoryStats, args);
  args.executable = executable_;
  RETURN_IF_ERROR(PJRT_CALL(client_->api, PJRT_Executable_GetCompiledMemoryStats, args));
  return CompiledMemoryStats{.code_bytes = args.generated_code_size_in_bytes,
                             .argument_bytes = args.argument_size_in_bytes,
                             .output_bytes = args.output_size_in_bytes,
                             .alias_bytes = args.alias_size_in_bytes,
                             .temp_bytes = args.temp_size_in_bytes,
                             .peak_bytes = args.peak_memory_in_bytes};
}

Result<std::map<std::string, double>> Executable::cost_analysis() const {
  PJRT_ARGS(PJRT_Executable_GetCostAnalysis, args);
  args.executable = executable_;
  RETURN_IF_ERROR(PJRT_CALL(client_->api, PJRT_Executable_GetCostAnalysis, args));
  std::map<std::string, double> costs;
  for (const NamedValue& property : from_c(args.properties, args.num_properties)) {
    if (const auto* real = std::get_if<float>(&property.value)) {
      costs[property.name] = *real;
    } else if (const auto* integer = std::get_if<int64_t>(&property.value)) {
      costs[property.name] = static_cast<double>(*integer);
    }
  }
  return costs;
}

Result<std::string> Executable::fingerprint() const {
  PJRT_ARGS(PJRT_Executable_Fingerprint, args);
  args.executable = executable_;
  Status status = PJRT_CALL(client_->api, PJRT_Executable_Fingerprint, args);
  if (status.ok()) {
    return std::string(args.executable_fingerprint, args.executable_fingerprint_size);
  }
  if (status.code() != absl::StatusCode::kUnimplemented) return status;
  // Deprecated, but the one that some plugins have.
  PJRT_ARGS(PJRT_LoadedExecutable_Fingerprint, old);
  old.executable = loaded_;
  RETURN_IF_ERROR(PJRT_CALL(client_->api, PJRT_LoadedExecutable_Fingerprint, old));
  return std::string(old.executable_fingerprint, old.executable_fingerprint_size);
}

Result<std::string> Executable::serialize() const {
  PJRT_ARGS(PJRT_Executable_Serialize, args);
  args.executable = executable_;
  RETURN_IF_ERROR(PJRT_CALL(client_->api, PJRT_Executable_Serialize, args));
  std::string bytes(args.serialized_bytes, args.serialized_bytes_size);
  args.serialized_executable_deleter(args.serialized_executable);
  return bytes;
}

Result<Executable::Program> Executable::optimized_program() const {
  PJRT_Program program = {};
  program.struct_size = PJRT_Program_STRUCT_SIZE;
  PJRT_ARGS(PJRT_Executable_OptimizedProgram, args);
  args.executable = executable_;
  args.program = &program;
  // The first call tells the size, the second fills.
  RETURN_IF_ERROR(PJRT_CALL(client_->api, PJRT_Executable_OptimizedProgram, args));
  Program result{std::string(program.format, program.format_size),
                 std::string(program.code_size, '\0')};
  program.code = result.code.data();
  RETURN_IF_ERROR(PJRT_CALL(client_->api, PJRT_Executable_OptimizedProgram, args));
  return result;
}

}  // namespace tessera::pjrt
