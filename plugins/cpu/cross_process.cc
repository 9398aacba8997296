// Making a client together with other processes, and news of them.
#include "plugins/cpu/cross_process.h"

#include "plugins/cpu/traffic.h"

namespace tessera::pjrt_cpu {
namespace {

// Processes of one machine talk over loopback; those of several over the address of the host's
// name.
Network::Options choose_address(const ClientOptions& options,
                                const std::vector<ProcessDescription>& processes) {
  if (!options.collectives_interface.empty() || !options.collectives_address.empty())
    return {options.collectives_interface, options.collectives_address};
  const bool one_machine =
      std::all_of(processes.begin(), processes.end(),
                  [&](const auto& process) { return process.machine == processes[0].machine; });
  return {"", one_machine ? "127.0.0.1" : ""};
}

}  // namespace

absl::StatusOr<std::shared_ptr<CrossProcess>> connect_processes(const PJRT_Client_Create_Args& args,
                                                                const ClientOptions& options,
                                                                std::shared_ptr<MemoryPool> pool,
                                                                int64_t threads) {
  // Processes make their clients in one order, so a count tells apart the keys of several. Where
  // one may come later than others and has made fewer, the caller has to say the number.
  static std::atomic<int> clients = 0;
  auto result = std::make_shared<CrossProcess>();
  result->callbacks = callback_key_values(args);
  if (result->callbacks == nullptr) {
    return invalid(absl::StrCat("create option 'num_nodes' is ", options.num_nodes,
                                ": several processes need kv_get_callback, kv_try_get_callback and "
                                "kv_put_callback"));
  }
  TF_RETURN_IF_ERROR(catch_failure([&] {
    result->store =
        prefixed(*result->callbacks,
                 absl::StrCat("pjrt_cpu/", options.client_number.value_or(clients++), "/"));
    const ProcessDescription own = {.devices = options.cpu_device_count,
                                    .slice = options.slice_index,
                                    .machine = machine_name()};
    result->processes = exchange(*result->store, static_cast<int>(options.node_id),
                                 static_cast<int>(options.num_nodes), own,
                                 std::chrono::milliseconds(options.topology_timeout_ms));
    result->launches = std::make_shared<Launches>(Launches::Options{
        .process = static_cast<int>(options.node_id),
        .network = std::make_shared<Network>(choose_address(options, result->processes)),
        .store = result->store.get(),
        .pool = std::move(pool),
        .collective_timeout = std::chrono::milliseconds(options.collective_timeout_ms),
        .most_under_way = static_cast<int>(threads / options.cpu_device_count - 1)});
  }));
  return result;
}

void add_slice(const ProcessDescription& process, PJRT_DeviceDescription* device) {
  if (!process.slice.has_value()) return;
  device->attributes.add("slice_index", *process.slice);
  device->attributes.add("partition_index", *process.slice);
}

namespace {

absl::Status update_global_process_info(PJRT_Client_UpdateGlobalProcessInfo_Args& args) {
  if (args.num_process_infos > 0) TF_RETURN_IF_ERROR(require(args.process_infos, "process_infos"));
  if (args.client->cross_process == nullptr) return absl::OkStatus();
  const char* next = reinterpret_cast<const char*>(args.process_infos);
  for (size_t i = 0; i < args.num_process_infos; ++i) {
    const auto& info = *reinterpret_cast<const PJRT_ProcessInfo*>(next);
    TF_RETURN_IF_ERROR(
        check_struct_size("PJRT_ProcessInfo", PJRT_ProcessInfo_STRUCT_SIZE, info.struct_size));
    next += info.struct_size;  // a newer caller's are larger
    const bool dead =
        info.state == PJRT_ProcessState_kDisconnected || info.state == PJRT_ProcessState_kError;
    if (!dead && info.state != PJRT_ProcessState_kConnected) continue;
    args.client->cross_process->launches->update(info.task_id, info.incarnation_id, !dead);
  }
  return absl::OkStatus();
}

}  // namespace

void fill_cross_process_slots(PJRT_Api& api) {
  TESSERA_SLOT(api, PJRT_Client_UpdateGlobalProcessInfo, client, update_global_process_info);
}

}  // namespace tessera::pjrt_cpu

extern "C" __attribute__((visibility("default"))) int tessera_pjrt_cpu_traffic(
    PJRT_Client* client, TesseraPjrtCpuTraffic* out) {
  if (client == nullptr || out == nullptr || out->struct_size < sizeof(*out)) return 0;
  if (client->cross_process == nullptr) {
    out->bytes_sent = out->bytes_received = out->operations = out->waited_ns = 0;
    return 1;
  }
  const auto& traffic = client->cross_process->launches->traffic();
  out->bytes_sent = traffic.bytes_sent;
  out->bytes_received = traffic.bytes_received;
  out->operations = traffic.operations;
  out->waited_ns = static_cast<uint64_t>(traffic.waiting.total().count());
  return 1;
}

extern "C" __attribute__((visibility("default"))) size_t tessera_pjrt_cpu_collectives(
    PJRT_Client* client, char* out, size_t size) {
  if (out != nullptr && size > 0) *out = '\0';
  if (client == nullptr || client->cross_process == nullptr) return 0;
  const std::string text = client->cross_process->launches->collectives_under_way().to_text();
  if (out != nullptr && size > 0) {
    const size_t kept = std::min(size - 1, text.size());
    std::memcpy(out, text.data(), kept);
    out[kept] = '\0';
  }
  return text.size();
}
