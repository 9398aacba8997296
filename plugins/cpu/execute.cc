// Running executables.
#include "plugins/cpu/cross_process.h"
#include "plugins/cpu/internal.h"

namespace tessera::pjrt_cpu {
namespace {

using Buffers = std::vector<std::unique_ptr<xla::PjRtBuffer>>;

// A caller of an older C API sends fewer fields, one of a newer API more; only the first ones must
// be there.
absl::StatusOr<xla::ExecuteOptions> read_options(const PJRT_ExecuteOptions* from, size_t num_args) {
  TF_RETURN_IF_ERROR(require(from, "options"));
  constexpr size_t kLeast = PJRT_STRUCT_SIZE(PJRT_ExecuteOptions, num_non_donatable_input_indices);
  TF_RETURN_IF_ERROR(check_struct_size("PJRT_ExecuteOptions", kLeast, from->struct_size));
  const auto has = [&](size_t end) { return from->struct_size >= end; };
  if (from->num_send_ops > 0 || from->num_recv_ops > 0) {
    return absl::UnimplementedError(
        "host send and receive callbacks are unsupported on this platform");
  }
  xla::ExecuteOptions options;
  options.launch_id = from->launch_id;
  options.use_major_to_minor_data_layout_for_callbacks = true;
  if (from->num_non_donatable_input_indices > 0) {
    TF_RETURN_IF_ERROR(
        require(from->non_donatable_input_indices, "options.non_donatable_input_indices"));
  }
  for (size_t i = 0; i < from->num_non_donatable_input_indices; ++i) {
    const int64_t index = from->non_donatable_input_indices[i];
    if (index < 0 || index >= static_cast<int64_t>(num_args)) {
      return invalid(absl::StrCat("options.non_donatable_input_indices names input ", index, " of ",
                                  num_args));
    }
    options.non_donatable_input_indices.insert(static_cast<int>(index));
  }
  if (has(PJRT_STRUCT_SIZE(PJRT_ExecuteOptions, context)) && from->context != nullptr) {
    options.context = &from->context->context;
  }
  if (has(PJRT_STRUCT_SIZE(PJRT_ExecuteOptions, call_location)) && from->call_location != nullptr) {
    options.call_location = from->call_location;
  }
  if (has(PJRT_STRUCT_SIZE(PJRT_ExecuteOptions, incarnation_ids)) && from->task_ids != nullptr &&
      from->incarnation_ids != nullptr) {
    for (size_t i = 0; i < from->num_tasks; ++i) {
      options.incarnations.insert(
          {from->task_ids[i], xla::IncarnationId(from->incarnation_ids[i])});
    }
  }
  return options;
}

absl::Status check_arguments(const PJRT_LoadedExecutable_Execute_Args& args) {
  const PJRT_LoadedExecutable& executable = *args.executable;
  if (executable.deleted) return invalid("the executable has been deleted");
  const size_t wanted = args.execute_device == nullptr ? executable.addressable_devices.size() : 1;
  if (args.num_devices != wanted) {
    return invalid(
        absl::StrCat("num_devices is ", args.num_devices, ", the executable runs on ", wanted));
  }
  TF_RETURN_IF_ERROR(require(args.output_lists, "output_lists"));
  if (args.num_args > 0) TF_RETURN_IF_ERROR(require(args.argument_lists, "argument_lists"));
  for (size_t d = 0; d < args.num_devices; ++d) {
    if (executable.num_outputs > 0 && args.output_lists[d] == nullptr) {
      return invalid(absl::StrCat("output_lists[", d, "] is null"));
    }
    if (args.num_args > 0 && args.argument_lists[d] == nullptr) {
      return invalid(absl::StrCat("argument_lists[", d, "] is null"));
    }
    for (size_t i = 0; i < args.num_args; ++i) {
      const PJRT_Buffer* buffer = args.argument_lists[d][i];
      if (buffer == nullptr)
        return invalid(absl::StrCat("argument ", i, " for device ", d, " is null"));
      if (buffer->client != executable.client) {
        return invalid(
            absl::StrCat("argument ", i, " for device ", d, " belongs to another client"));
      }
    }
  }
  return absl::OkStatus();
}

std::vector<std::vector<xla::PjRtBuffer*>> unwrap_arguments(
    const PJRT_LoadedExecutable_Execute_Args& args) {
  std::vector<std::vector<xla::PjRtBuffer*>> lists(args.num_devices);
  for (size_t d = 0; d < args.num_devices; ++d) {
    lists[d].reserve(args.num_args);
    for (size_t i = 0; i < args.num_args; ++i)
      lists[d].push_back(args.argument_lists[d][i]->buffer.get());
  }
  return lists;
}

absl::StatusOr<Buffers> execute_on(const PJRT_LoadedExecutable_Execute_Args& args,
                                   absl::Span<xla::PjRtBuffer* const> list,
                                   const xla::ExecuteOptions& options,
                                   std::optional<xla::Future<>>& future) {
  if (args.execute_device->device == nullptr)
    return invalid("execute_device belongs to another process");
  if (args.execute_device->client != args.executable->client)
    return invalid("execute_device belongs to another client");
  const xla::PjRtLoadedExecutable& executable = *args.executable->executable;
  const bool fill = args.device_complete_events != nullptr;
  const auto& devices = args.executable->addressable_devices;
  if (std::find(devices.begin(), devices.end(), args.execute_device) != devices.end()) {
    return executable.ExecuteSharded(list, args.execute_device->device, options, future, fill);
  }
  if (!devices.empty()) return invalid("execute_device is not one of the executable's devices");
  return executable.ExecutePortable(list, args.execute_device->device, options, future, fill);
}

// Tells of the end of a launch when all its devices are done.
void end_when_done(const std::shared_ptr<Launches>& launches, int64_t launch,
                   std::vector<xla::Future<>>& futures) {
  struct Devices {
    std::atomic<size_t> left;
    std::mutex mutex;
    std::optional<std::string> error;  // the first one
  };
  auto devices = std::make_shared<Devices>();
  devices->left = futures.size();
  for (xla::Future<>& future : futures) {
    future.OnReady([launches, launch, devices](const absl::Status& status) {
      if (!status.ok()) {  // at once: others may wait for this device
        std::lock_guard lock(devices->mutex);
        devices->error = std::string(status.message());
        launches->fail(launch, Failure(Failure::kUnavailable, *devices->error));
      }
      if (--devices->left == 0) launches->end(launch, std::nullopt);
    });
  }
}

// A program over several devices of a client that spans processes: see Launches.
absl::Status launch_across_processes(const PJRT_LoadedExecutable_Execute_Args& args,
                                     const std::vector<std::vector<xla::PjRtBuffer*>>& lists,
                                     xla::ExecuteOptions options, std::vector<Buffers>& outputs,
                                     std::optional<std::vector<xla::Future<>>>& futures) {
  const std::shared_ptr<Launches> launches = args.executable->client->cross_process->launches;
  int64_t launch = 0;
  const PJRT_LoadedExecutable& executable = *args.executable;
  const bool single_device = executable.processes.size() == 1 && args.num_devices == 1;
  TF_RETURN_IF_ERROR(
      catch_failure([&] { launch = launches->begin(executable.processes, single_device); }));
  options.launch_id = static_cast<int32_t>(launch);
  futures.emplace();
  auto result = args.executable->executable->Execute(lists, options, futures);
  if (!result.ok()) {
    launches->end(launch, std::string(result.status().message()));
    return result.status();
  }
  outputs = *std::move(result);
  end_when_done(launches, launch, *futures);
  return absl::OkStatus();
}

absl::Status loaded_execute(PJRT_LoadedExecutable_Execute_Args& args) {
  TF_RETURN_IF_ERROR(check_arguments(args));
  TF_ASSIGN_OR_RETURN(const xla::ExecuteOptions options, read_options(args.options, args.num_args));
  const auto lists = unwrap_arguments(args);
  std::vector<Buffers> outputs;
  std::optional<std::vector<xla::Future<>>> futures;
  if (args.execute_device != nullptr) {
    std::optional<xla::Future<>> future;
    TF_ASSIGN_OR_RETURN(outputs.emplace_back(), execute_on(args, lists[0], options, future));
    if (future.has_value()) futures.emplace().push_back(*std::move(future));
  } else if (!args.executable->processes.empty()) {
    TF_RETURN_IF_ERROR(launch_across_processes(args, lists, options, outputs, futures));
  } else {
    if (args.device_complete_events != nullptr) futures.emplace();
    TF_ASSIGN_OR_RETURN(outputs, args.executable->executable->Execute(lists, options, futures));
  }
  for (size_t d = 0; d < outputs.size(); ++d) {
    if (outputs[d].size() != args.executable->num_outputs) {
      return absl::InternalError(absl::StrCat("device ", d, " returned ", outputs[d].size(),
                                              " outputs, expected ", args.executable->num_outputs));
    }
  }
  for (size_t d = 0; d < outputs.size(); ++d) {
    for (size_t i = 0; i < outputs[d].size(); ++i) {
      args.output_lists[d][i] = make_buffer(std::move(outputs[d][i]), args.executable->client);
    }
    if (args.device_complete_events != nullptr) {
      args.device_complete_events[d] =
          make_event(futures.has_value() ? std::move((*futures)[d]) : xla::Future<>());
    }
  }
  return absl::OkStatus();
}

absl::Status execute_context_create(PJRT_ExecuteContext_Create_Args& args) {
  args.context = new PJRT_ExecuteContext;
  return absl::OkStatus();
}

absl::Status execute_context_destroy(PJRT_ExecuteContext_Destroy_Args& args) {
  delete args.context;
  return absl::OkStatus();
}

}  // namespace

void fill_execute_slots(PJRT_Api& api) {
  TESSERA_SLOT(api, PJRT_LoadedExecutable_Execute, executable, loaded_execute);
  TESSERA_SLOT_PLAIN(api, PJRT_ExecuteContext_Create, execute_context_create);
  TESSERA_SLOT(api, PJRT_ExecuteContext_Destroy, context, execute_context_destroy);
}

}  // namespace tessera::pjrt_cpu
