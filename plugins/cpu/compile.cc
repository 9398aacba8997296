// From programs and stored bytes to executables.
#include "plugins/cpu/internal.h"

namespace tessera::pjrt_cpu {
namespace {

absl::StatusOr<xla::CompileOptions> read_compile_options(const char* data, size_t size) {
  xla::CompileOptionsProto proto;
  if (size > 0) TF_RETURN_IF_ERROR(require(data, "compile_options"));
  if (size > std::numeric_limits<int>::max() ||
      !proto.ParseFromArray(data, static_cast<int>(size))) {
    return invalid("compile_options is not a serialized CompileOptionsProto");
  }
  if (size == 0) return xla::CompileOptions();
  return xla::CompileOptions::FromProto(proto);
}

absl::Status check_program(const PJRT_Program* program) {
  TF_RETURN_IF_ERROR(require(program, "program"));
  TF_RETURN_IF_ERROR(
      check_struct_size("PJRT_Program", PJRT_Program_STRUCT_SIZE, program->struct_size));
  TF_RETURN_IF_ERROR(require(program->code, "program.code"));
  return require(program->format, "program.format");
}

absl::StatusOr<xla::XlaComputation> parse_hlo(std::string_view format, std::string_view code) {
  const int size = static_cast<int>(code.size());
  if (format == "hlo") {
    xla::HloModuleProto proto;
    if (proto.ParseFromArray(code.data(), size)) return xla::XlaComputation(proto);
  } else {
    xla::HloModuleProtoWithConfig proto;
    if (proto.ParseFromArray(code.data(), size)) return xla::XlaComputation(proto.hlo_module());
  }
  return invalid(absl::StrCat("program.code does not parse as ", format));
}

// Transfers between a device's memories inside a program, of which XLA:CPU knows nothing: all of a
// CPU's memories are the same RAM, so the value is there already. One whose result leaves the
// program stays, and is refused: the output would lie in another memory than was asked for.
void drop_memory_transfers(mlir::ModuleOp module) {
  std::vector<mlir::Operation*> found;
  module.walk([&](mlir::Operation* op) {
    if (op->getName().getStringRef() != "stablehlo.custom_call") return;
    const auto target = op->getAttrOfType<mlir::StringAttr>("call_target_name");
    if (!target || target.getValue() != "annotate_device_placement") return;
    if (op->getNumOperands() != 1 || op->getNumResults() != 1) return;
    mlir::Operation* function = op->getParentOp();
    const auto name = function->getAttrOfType<mlir::StringAttr>("sym_name");
    for (mlir::Operation* user : op->getUsers()) {
      if (name && name.getValue() == "main" && user->getName().getStringRef() == "func.return")
        return;
    }
    found.push_back(op);
  });
  for (mlir::Operation* op : found) {
    op->getResult(0).replaceAllUsesWith(op->getOperand(0));
    op->erase();
  }
}

/// Parses the program and gives it to `compile(client, program, options)`, program being a module
/// or a computation.
template <typename Result, typename Compile>
absl::StatusOr<Result> parse_and(const PJRT_Program& program, const Compile& compile) {
  const std::string_view format = view(program.format, program.format_size);
  const std::string_view code = view(program.code, program.code_size);
  if (format == "hlo" || format == "hlo_with_config") {
    TF_ASSIGN_OR_RETURN(const xla::XlaComputation computation, parse_hlo(format, code));
    return compile(computation);
  }
  if (format != "mlir") {
    return invalid(
        absl::StrCat("program.format is '", format, "'; known: mlir, hlo, hlo_with_config"));
  }
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  const absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> module =
      xla::ParseMlirModuleString(code, context);
  if (!module.ok())
    return invalid(
        absl::StrCat("program.code does not parse as mlir: ", module.status().message()));
  if (mlir::SymbolTable::lookupSymbolIn(module->get(), "main") == nullptr)
    return invalid("program.code has no function 'main'");
  drop_memory_transfers(module->get());
  return compile(module->get());
}

// XLA's client would count through the devices of this process only.
void assign_default_devices(const PJRT_Client& client, xla::CompileOptions* options) {
  auto& build = options->executable_build_options;
  if (client.cross_process == nullptr || build.has_device_assignment() ||
      options->compile_portable_executable) {
    return;
  }
  const int64_t wanted = int64_t{build.num_replicas()} * build.num_partitions();
  if (build.num_replicas() < 1 || build.num_partitions() < 1 ||
      wanted > static_cast<int64_t>(client.devices.size())) {
    return;  // check_assignment says what is wrong
  }
  // A single device: one of this process's, as a client of one process would choose.
  const auto& devices = wanted == 1 ? client.addressable_devices : client.devices;
  xla::DeviceAssignment assignment(build.num_replicas(), build.num_partitions());
  size_t next = 0;
  for (int replica = 0; replica < build.num_replicas(); ++replica) {
    for (int partition = 0; partition < build.num_partitions(); ++partition)
      assignment(replica, partition) = devices[next++]->description.id;
  }
  build.set_device_assignment(assignment);
}

// XLA's own check comes late and aborts some programs: a device assignment must fit the client.
absl::Status check_assignment(const PJRT_Client& client, const xla::CompileOptions& options) {
  const auto& build = options.executable_build_options;
  const int64_t wanted = int64_t{build.num_replicas()} * build.num_partitions();
  if (build.num_replicas() < 1 || build.num_partitions() < 1) {
    return invalid("compile options: num_replicas and num_partitions must be at least 1");
  }
  if (wanted > static_cast<int64_t>(client.devices.size())) {
    return invalid(absl::StrCat("the program needs ", build.num_replicas(), " replicas x ",
                                build.num_partitions(), " partitions = ", wanted,
                                " devices, the client has ", client.devices.size(),
                                " (create option 'cpu_device_count')"));
  }
  if (!build.has_device_assignment()) return absl::OkStatus();
  const xla::DeviceAssignment& assignment = build.device_assignment();
  if (assignment.replica_count() != build.num_replicas() ||
      assignment.computation_count() != build.num_partitions()) {
    return invalid(absl::StrCat("compile options: the device assignment is ",
                                assignment.replica_count(), " x ", assignment.computation_count(),
                                ", num_replicas x num_partitions is ", build.num_replicas(), " x ",
                                build.num_partitions()));
  }
  std::set<int64_t> known, used;
  for (const PJRT_Device* device : client.devices) known.insert(device->description.id);
  for (int replica = 0; replica < assignment.replica_count(); ++replica) {
    for (int partition = 0; partition < assignment.computation_count(); ++partition) {
      const int64_t id = assignment(replica, partition);
      if (!known.contains(id))
        return invalid(absl::StrCat("compile options: no device has id ", id));
      if (!used.insert(id).second)
        return invalid(absl::StrCat("compile options: device ", id, " is assigned twice"));
    }
  }
  return absl::OkStatus();
}

std::vector<int> processes_of(const xla::PjRtLoadedExecutable& executable,
                              const PJRT_Client& client) {
  // Without devices of its own an executable is portable, and runs on one device.
  if (client.cross_process == nullptr || executable.addressable_devices().empty()) return {};
  std::set<int> processes;
  const xla::DeviceAssignment& assignment = executable.device_assignment();
  for (int replica = 0; replica < assignment.replica_count(); ++replica) {
    for (int partition = 0; partition < assignment.computation_count(); ++partition) {
      processes.insert(
          xla::UnpackCpuProcessIndex(xla::PjRtGlobalDeviceId(assignment(replica, partition))));
    }
  }
  return {processes.begin(), processes.end()};
}

absl::StatusOr<PJRT_LoadedExecutable*> wrap_loaded(
    std::unique_ptr<xla::PjRtLoadedExecutable> executable, PJRT_Client* client) {
  auto handle = std::make_unique<PJRT_LoadedExecutable>();
  handle->executable = std::move(executable);
  handle->client = client;
  TF_ASSIGN_OR_RETURN(const auto types, handle->executable->GetOutputElementTypes());
  handle->num_outputs = types.empty() ? 0 : types.front().size();
  for (xla::PjRtDevice* device : handle->executable->addressable_devices()) {
    handle->addressable_devices.push_back(client->device_of[device]);
  }
  handle->processes = processes_of(*handle->executable, *client);
  return handle.release();
}

absl::Status client_compile(PJRT_Client_Compile_Args& args) {
  using Loaded = std::unique_ptr<xla::PjRtLoadedExecutable>;
  TF_RETURN_IF_ERROR(check_program(args.program));
  TF_ASSIGN_OR_RETURN(xla::CompileOptions options,
                      read_compile_options(args.compile_options, args.compile_options_size));
  assign_default_devices(*args.client, &options);
  TF_RETURN_IF_ERROR(check_assignment(*args.client, options));
  TF_ASSIGN_OR_RETURN(Loaded executable, parse_and<Loaded>(*args.program, [&](auto&& program) {
                        return args.client->client->CompileAndLoad(program, options);
                      }));
  TF_ASSIGN_OR_RETURN(args.executable, wrap_loaded(std::move(executable), args.client));
  return absl::OkStatus();
}

// Ahead of time: without a client of the caller's, one for the topology is made and kept with the
// executable.
absl::Status compile(PJRT_Compile_Args& args) {
  using Unloaded = std::unique_ptr<xla::PjRtExecutable>;
  TF_RETURN_IF_ERROR(check_program(args.program));
  TF_ASSIGN_OR_RETURN(const xla::CompileOptions options,
                      read_compile_options(args.compile_options, args.compile_options_size));
  auto handle = std::make_unique<PJRT_Executable>();
  xla::PjRtClient* client = args.client == nullptr ? nullptr : args.client->client.get();
  if (client == nullptr) {
    xla::CpuClientOptions client_options;
    client_options.cpu_device_count = static_cast<int>(args.topology->descriptions.size());
    client_options.topology = args.topology->topology.get();
    TF_ASSIGN_OR_RETURN(handle->compiled_by, xla::GetXlaPjrtCpuClient(std::move(client_options)));
    client = handle->compiled_by.get();
  }
  const auto& build = options.executable_build_options;
  if (int64_t{build.num_replicas()} * build.num_partitions() > client->device_count()) {
    return invalid(absl::StrCat("the program needs ", build.num_replicas(), " x ",
                                build.num_partitions(), " devices, the topology has ",
                                client->device_count()));
  }
  TF_ASSIGN_OR_RETURN(handle->unloaded, parse_and<Unloaded>(*args.program, [&](auto&& program) {
                        return client->Compile(program, options);
                      }));
  handle->client = args.client;
  args.executable = handle.release();
  return absl::OkStatus();
}

absl::Status deserialize_and_load(PJRT_Executable_DeserializeAndLoad_Args& args) {
  TF_RETURN_IF_ERROR(require(args.serialized_executable, "serialized_executable"));
  std::optional<xla::CompileOptions> overridden;
  if (args.overridden_serialized_compile_options != nullptr &&
      args.overridden_serialized_compile_options_size > 0) {
    TF_ASSIGN_OR_RETURN(overridden,
                        read_compile_options(args.overridden_serialized_compile_options,
                                             args.overridden_serialized_compile_options_size));
    TF_RETURN_IF_ERROR(check_assignment(*args.client, *overridden));
  }
  const std::string_view bytes = view(args.serialized_executable, args.serialized_executable_size);
  TF_ASSIGN_OR_RETURN(auto executable, args.client->client->LoadSerializedExecutable(
                                           bytes, overridden, xla::LoadOptions()));
  TF_ASSIGN_OR_RETURN(args.loaded_executable, wrap_loaded(std::move(executable), args.client));
  return absl::OkStatus();
}

}  // namespace

void fill_compile_slots(PJRT_Api& api) {
  TESSERA_SLOT(api, PJRT_Client_Compile, client, client_compile);
  TESSERA_SLOT(api, PJRT_Compile, topology, compile);
  TESSERA_SLOT(api, PJRT_Executable_DeserializeAndLoad, client, deserialize_and_load);
}

}  // namespace tessera::pjrt_cpu
