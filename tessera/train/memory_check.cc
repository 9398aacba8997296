#include "tessera/train/memory_check.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "tessera/base/format.h"
#include "tessera/base/strings.h"

namespace tessera {
namespace {

std::string text(double bytes) { return bytes_text(bytes); }

// With the devices and the memory that the client has, if it says.
Status check_on(const pjrt::Client& client, MemoryNeed need) {
  const auto devices = client.addressable_devices();
  if (devices.empty()) return absl::OkStatus();
  const bool is_shared = client.platform_name() == "cpu";
  std::optional<int64_t> available = is_shared ? host_memory_bytes() : std::nullopt;
  if (!is_shared) {
    if (const auto stats = devices[0].memory_stats(); stats.ok()) available = stats->bytes_limit;
  }
  if (!available) return absl::OkStatus();
  need.devices = is_shared ? static_cast<int64_t>(devices.size()) : 1;
  need.available_bytes = *available;
  return check_memory(need);
}

}  // namespace

Status check_memory(const MemoryNeed& need) {
  const auto devices = static_cast<double>(need.devices);
  const double state = static_cast<double>(need.argument_bytes) * devices;
  const double temporary = static_cast<double>(need.temp_bytes.value_or(0)) * devices;
  if (state + temporary <= static_cast<double>(need.available_bytes)) return absl::OkStatus();
  return Status(absl::StatusCode::kResourceExhausted,
                str_cat("a training step needs ", need.temp_bytes ? "" : "more than ",
                        text(state + temporary), " of memory (state and batch ", text(state),
                        ", temporary ", need.temp_bytes ? text(temporary) : "beside it",
                        need.devices > 1 ? ", over devices that share it" : "", "), and there are ",
                        text(static_cast<double>(need.available_bytes)),
                        ": use a smaller model, training.batch_size or training.sequence_length, ",
                        need.temp_bytes ? "training.remat=full, " : "",
                        "or shard the weights over more memory"));
}

Status check_memory(const pjrt::Client& client, const pjrt::Executable& executable) {
  const auto memory = executable.memory_stats();
  if (!memory.ok()) return absl::OkStatus();
  return check_on(client,
                  {.argument_bytes = memory->argument_bytes, .temp_bytes = memory->temp_bytes});
}

Status check_memory(const pjrt::Client& client, int64_t argument_bytes) {
  return check_on(client, {.argument_bytes = argument_bytes, .temp_bytes = std::nullopt});
}

std::optional<int64_t> host_memory_bytes() {
  std::optional<int64_t> bytes;
  const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page_bytes > 0) bytes = int64_t{pages} * page_bytes;
  int64_t limit = 0;  // the file says "max" where there is none
  if (std::ifstream("/sys/fs/cgroup/memory.max") >> limit && limit > 0)
    bytes = std::min(bytes.value_or(limit), limit);
  return bytes;
}

}  // namespace tessera
