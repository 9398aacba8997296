// What executables say about themselves.
#include "plugins/cpu/internal.h"

struct PJRT_SerializedExecutable {
  std::string bytes;
};
struct PJRT_SerializedCompileOptions {
  std::string bytes;
};
struct PJRT_DeviceAssignmentSerialized {
  std::string bytes;
};

namespace tessera::pjrt_cpu {
namespace {

absl::Status executable_destroy(PJRT_Executable_Destroy_Args& args) {
  delete args.executable;
  return absl::OkStatus();
}

absl::Status executable_name(PJRT_Executable_Name_Args& args) {
  std::lock_guard lock(args.executable->mutex);
  auto& name = args.executable->name;
  if (!name.has_value()) name = std::string(args.executable->get().name());
  return give(*name, args.executable_name, args.executable_name_size);
}

absl::Status executable_num_replicas(PJRT_Executable_NumReplicas_Args& args) {
  args.num_replicas = static_cast<size_t>(args.executable->get().num_replicas());
  return absl::OkStatus();
}

absl::Status executable_num_partitions(PJRT_Executable_NumPartitions_Args& args) {
  args.num_partitions = static_cast<size_t>(args.executable->get().num_partitions());
  return absl::OkStatus();
}

absl::Status executable_code_size(PJRT_Executable_SizeOfGeneratedCodeInBytes_Args& args) {
  args.size_in_bytes = args.executable->get().SizeOfGeneratedCodeInBytes();
  return absl::OkStatus();
}

// ---- outputs
// --------------------------------------------------------------------------------------------------------

// Computes what the output questions answer; the caller holds the mutex.
absl::Status learn_outputs(PJRT_Executable& executable) {
  if (executable.output_types.has_value()) return absl::OkStatus();
  TF_ASSIGN_OR_RETURN(const auto types, executable.get().GetOutputElementTypes());
  TF_ASSIGN_OR_RETURN(const auto dims, executable.get().GetOutputDimensions());
  if (types.size() != 1 || dims.size() != 1)
    return absl::UnimplementedError("executables of several programs are unsupported");
  std::vector<PJRT_Buffer_Type> output_types;
  for (xla::PrimitiveType type : types.front()) output_types.push_back(to_pjrt_type(type));
  executable.output_dims.emplace();
  for (const auto& output : dims.front()) {
    executable.output_ranks.push_back(output.size());
    executable.output_dims->insert(executable.output_dims->end(), output.begin(), output.end());
  }
  // XLA's CPU executable does not tell; every output is in its device's default memory.
  executable.memory_kinds.emplace(output_types.size(), "device");
  executable.memory_kind_sizes.assign(output_types.size(), std::strlen("device"));
  executable.output_types = std::move(output_types);
  return absl::OkStatus();
}

absl::Status executable_num_outputs(PJRT_Executable_NumOutputs_Args& args) {
  std::lock_guard lock(args.executable->mutex);
  TF_RETURN_IF_ERROR(learn_outputs(*args.executable));
  args.num_outputs = args.executable->output_types->size();
  return absl::OkStatus();
}

absl::Status executable_output_types(PJRT_Executable_OutputElementTypes_Args& args) {
  std::lock_guard lock(args.executable->mutex);
  TF_RETURN_IF_ERROR(learn_outputs(*args.executable));
  args.output_types = args.executable->output_types->data();
  args.num_output_types = args.executable->output_types->size();
  return absl::OkStatus();
}

absl::Status executable_output_dimensions(PJRT_Executable_OutputDimensions_Args& args) {
  std::lock_guard lock(args.executable->mutex);
  TF_RETURN_IF_ERROR(learn_outputs(*args.executable));
  args.num_outputs = args.executable->output_ranks.size();
  args.dims = args.executable->output_dims->data();
  args.dim_sizes = args.executable->output_ranks.data();
  return absl::OkStatus();
}

absl::Status executable_output_memory_kinds(PJRT_Executable_OutputMemoryKinds_Args& args) {
  std::lock_guard lock(args.executable->mutex);
  TF_RETURN_IF_ERROR(learn_outputs(*args.executable));
  args.num_outputs = args.executable->memory_kinds->size();
  args.memory_kinds = args.executable->memory_kinds->data();
  args.memory_kind_sizes = args.executable->memory_kind_sizes.data();
  return absl::OkStatus();
}

// ---- the program and its cost
// ---------------------------------------------------------------------------------------

// Asked for twice a program: for the size, then for the bytes.
absl::Status executable_optimized_program(PJRT_Executable_OptimizedProgram_Args& args) {
  TF_RETURN_IF_ERROR(require(args.program, "program"));
  TF_RETURN_IF_ERROR(
      check_struct_size("PJRT_Program", PJRT_Program_STRUCT_SIZE, args.program->struct_size));
  static constexpr std::string_view kFormat = "hlo_with_config";
  std::lock_guard lock(args.executable->mutex);
  auto& bytes = args.executable->optimized_program;
  if (!bytes.has_value()) {
    TF_ASSIGN_OR_RETURN(const auto modules, args.executable->get().GetHloModules());
    if (modules.size() != 1)
      return absl::UnimplementedError("executables of several programs are unsupported");
    bytes = modules.front()->ToProtoWithConfig().SerializeAsString();
  }
  args.program->format = kFormat.data();
  args.program->format_size = kFormat.size();
  if (args.program->code == nullptr) {
    args.program->code_size = bytes->size();
    return absl::OkStatus();
  }
  if (args.program->code_size < bytes->size()) {
    return invalid(absl::StrCat("program.code_size is ", args.program->code_size,
                                ", the program needs ", bytes->size()));
  }
  std::memcpy(args.program->code, bytes->data(), bytes->size());
  args.program->code_size = bytes->size();
  return absl::OkStatus();
}

absl::StatusOr<absl::flat_hash_map<std::string, xla::PjRtValueType>> analyse_cost(
    PJRT_Executable& executable) {
  if (executable.loaded) return executable.loaded->GetCostAnalysis();
  xla::PjRtClient* client =
      executable.client != nullptr ? executable.client->client.get() : executable.compiled_by.get();
  TF_ASSIGN_OR_RETURN(const auto analysis, client->GetHloCostAnalysis());
  return xla::PjRtExecutableUtil::RunHloCostAnalysis(*executable.unloaded, analysis.get());
}

absl::Status executable_cost_analysis(PJRT_Executable_GetCostAnalysis_Args& args) {
  std::lock_guard lock(args.executable->mutex);
  auto& cost = args.executable->cost;
  if (!cost.has_value()) {
    TF_ASSIGN_OR_RETURN(const auto properties, analyse_cost(*args.executable));
    cost.emplace();
    for (const auto& [name, value] : std::map(properties.begin(), properties.end()))
      cost->add(name, value);
  }
  args.num_properties = cost->size();
  args.properties = cost->data();
  return absl::OkStatus();
}

absl::Status executable_memory_stats(PJRT_Executable_GetCompiledMemoryStats_Args& args) {
  TF_ASSIGN_OR_RETURN(const xla::CompiledMemoryStats stats,
                      args.executable->get().GetCompiledMemoryStats());
  args.generated_code_size_in_bytes = stats.generated_code_size_in_bytes;
  args.argument_size_in_bytes = stats.argument_size_in_bytes;
  args.output_size_in_bytes = stats.output_size_in_bytes;
  args.alias_size_in_bytes = stats.alias_size_in_bytes;
  args.temp_size_in_bytes = stats.temp_size_in_bytes;
  args.host_generated_code_size_in_bytes = stats.host_generated_code_size_in_bytes;
  args.host_argument_size_in_bytes = stats.host_argument_size_in_bytes;
  args.host_output_size_in_bytes = stats.host_output_size_in_bytes;
  args.host_alias_size_in_bytes = stats.host_alias_size_in_bytes;
  args.host_temp_size_in_bytes = stats.host_temp_size_in_bytes;
  args.peak_memory_in_bytes = stats.peak_memory_in_bytes;
  args.total_size_in_bytes = stats.total_size_in_bytes;
  return absl::OkStatus();
}

absl::Status executable_fingerprint(PJRT_Executable_Fingerprint_Args& args) {
  std::lock_guard lock(args.executable->mutex);
  auto& fingerprint = args.executable->fingerprint;
  if (!fingerprint.has_value()) {
    TF_ASSIGN_OR_RETURN(fingerprint, args.executable->get().FingerprintExecutable());
  }
  return give(*fingerprint, args.executable_fingerprint, args.executable_fingerprint_size);
}

absl::Status executable_serialize(PJRT_Executable_Serialize_Args& args) {
  auto serialized = std::make_unique<PJRT_SerializedExecutable>();
  TF_ASSIGN_OR_RETURN(serialized->bytes, args.executable->get().SerializeExecutable());
  args.serialized_bytes = serialized->bytes.data();
  args.serialized_bytes_size = serialized->bytes.size();
  args.serialized_executable = serialized.release();
  args.serialized_executable_deleter = [](PJRT_SerializedExecutable* executable) {
    delete executable;
  };
  return absl::OkStatus();
}

absl::Status executable_compile_options(PJRT_Executable_GetCompileOptions_Args& args) {
  TF_ASSIGN_OR_RETURN(const xla::CompileOptions options,
                      args.executable->get().GetCompileOptions());
  TF_ASSIGN_OR_RETURN(const xla::CompileOptionsProto proto, options.ToProto());
  auto serialized = std::make_unique<PJRT_SerializedCompileOptions>();
  serialized->bytes = proto.SerializeAsString();
  args.serialized_bytes = serialized->bytes.data();
  args.serialized_bytes_size = serialized->bytes.size();
  args.serialized_compile_options = serialized.release();
  args.serialized_compile_options_deleter = [](PJRT_SerializedCompileOptions* kept) {
    delete kept;
  };
  return absl::OkStatus();
}

// ---- loaded executables
// ---------------------------------------------------------------------------------------------

absl::Status loaded_destroy(PJRT_LoadedExecutable_Destroy_Args& args) {
  delete args.executable;
  return absl::OkStatus();
}

absl::Status loaded_get_executable(PJRT_LoadedExecutable_GetExecutable_Args& args) {
  auto handle = std::make_unique<PJRT_Executable>();
  handle->loaded = args.loaded_executable->executable;
  handle->client = args.loaded_executable->client;
  args.executable = handle.release();
  return absl::OkStatus();
}

absl::Status loaded_devices(PJRT_LoadedExecutable_AddressableDevices_Args& args) {
  return give(args.executable->addressable_devices, args.addressable_devices,
              args.num_addressable_devices);
}

absl::Status loaded_delete(PJRT_LoadedExecutable_Delete_Args& args) {
  args.executable->deleted = true;
  args.executable->executable->Delete();
  return absl::OkStatus();
}

absl::Status loaded_is_deleted(PJRT_LoadedExecutable_IsDeleted_Args& args) {
  args.is_deleted = args.executable->deleted || args.executable->executable->IsDeleted();
  return absl::OkStatus();
}

absl::Status loaded_fingerprint(PJRT_LoadedExecutable_Fingerprint_Args& args) {
  std::lock_guard lock(args.executable->mutex);
  auto& fingerprint = args.executable->fingerprint;
  if (!fingerprint.has_value()) {
    TF_ASSIGN_OR_RETURN(fingerprint, args.executable->executable->FingerprintExecutable());
  }
  return give(*fingerprint, args.executable_fingerprint, args.executable_fingerprint_size);
}

absl::Status loaded_device_assignment(PJRT_LoadedExecutable_GetDeviceAssignment_Args& args) {
  auto serialized = std::make_unique<PJRT_DeviceAssignmentSerialized>();
  xla::DeviceAssignmentProto proto;
  args.executable->executable->device_assignment().Serialize(&proto);
  serialized->bytes = proto.SerializeAsString();
  args.serialized_bytes = serialized->bytes.data();
  args.serialized_bytes_size = serialized->bytes.size();
  args.serialized_device_assignment = serialized.release();
  args.serialized_device_assignment_deleter = [](PJRT_DeviceAssignmentSerialized* assignment) {
    delete assignment;
  };
  return absl::OkStatus();
}

}  // namespace

void fill_executable_slots(PJRT_Api& api) {
  TESSERA_SLOT(api, PJRT_Executable_Destroy, executable, executable_destroy);
  TESSERA_SLOT(api, PJRT_Executable_Name, executable, executable_name);
  TESSERA_SLOT(api, PJRT_Executable_NumReplicas, executable, executable_num_replicas);
  TESSERA_SLOT(api, PJRT_Executable_NumPartitions, executable, executable_num_partitions);
  TESSERA_SLOT(api, PJRT_Executable_NumOutputs, executable, executable_num_outputs);
  TESSERA_SLOT(api, PJRT_Executable_SizeOfGeneratedCodeInBytes, executable, executable_code_size);
  TESSERA_SLOT(api, PJRT_Executable_GetCostAnalysis, executable, executable_cost_analysis);
  TESSERA_SLOT(api, PJRT_Executable_OutputMemoryKinds, executable, executable_output_memory_kinds);
  TESSERA_SLOT(api, PJRT_Executable_OptimizedProgram, executable, executable_optimized_program);
  TESSERA_SLOT(api, PJRT_Executable_Serialize, executable, executable_serialize);
  TESSERA_SLOT(api, PJRT_Executable_OutputElementTypes, executable, executable_output_types);
  TESSERA_SLOT(api, PJRT_Executable_OutputDimensions, executable, executable_output_dimensions);
  TESSERA_SLOT(api, PJRT_Executable_Fingerprint, executable, executable_fingerprint);
  TESSERA_SLOT(api, PJRT_Executable_GetCompiledMemoryStats, executable, executable_memory_stats);
  TESSERA_SLOT(api, PJRT_Executable_GetCompileOptions, executable, executable_compile_options);
  TESSERA_SLOT(api, PJRT_LoadedExecutable_Destroy, executable, loaded_destroy);
  TESSERA_SLOT(api, PJRT_LoadedExecutable_GetExecutable, loaded_executable, loaded_get_executable);
  TESSERA_SLOT(api, PJRT_LoadedExecutable_AddressableDevices, executable, loaded_devices);
  TESSERA_SLOT(api, PJRT_LoadedExecutable_Delete, executable, loaded_delete);
  TESSERA_SLOT(api, PJRT_LoadedExecutable_IsDeleted, executable, loaded_is_deleted);
  TESSERA_SLOT(api, PJRT_LoadedExecutable_Fingerprint, executable, loaded_fingerprint);
  TESSERA_SLOT(api, PJRT_LoadedExecutable_GetDeviceAssignment, executable,
               loaded_device_assignment);
}

}  // namespace tessera::pjrt_cpu
