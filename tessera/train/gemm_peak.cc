#include "tessera/train/gemm_peak.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_format.h"
#include "tessera/base/crc32c.h"
#include "tessera/base/json.h"

namespace tessera {
namespace {

constexpr absl::Duration kWhileBusy = absl::Hours(1);  // for so long a busy machine's counts

/// @main(x, w) = x w. The operands are arguments, so that no compiler can do the work ahead.
std::string program(const char* type, int64_t size) {
  const std::string tensor = absl::StrFormat("tensor<%dx%dx%s>", size, size, type);
  return absl::StrFormat(
      "module @gemm_peak {\n"
      "  func.func public @main(%%x: %s, %%w: %s) -> %s {\n"
      "    %%y = stablehlo.dot_general %%x, %%w, contracting_dims = [1] x [0] : (%s, %s) -> %s\n"
      "    return %%y : %s\n"
      "  }\n"
      "}\n",
      tensor, tensor, tensor, tensor, tensor, tensor, tensor);
}

/// One device's program with its operands.
struct Worker {
  pjrt::Executable executable;
  pjrt::Buffer x, w;
};

Status run_all(const std::vector<Worker>& workers, int64_t repeats) {
  std::vector<pjrt::ExecuteResult> results;
  for (int64_t i = 0; i < repeats; ++i) {
    for (const Worker& worker : workers) {
      const std::vector<std::vector<const pjrt::Buffer*>> arguments = {{&worker.x, &worker.w}};
      ASSIGN_OR_RETURN(pjrt::ExecuteResult result, worker.executable.execute(arguments));
      results.push_back(std::move(result));
    }
  }
  for (const pjrt::ExecuteResult& result : results) {
    for (const pjrt::Event& done : result.done) RETURN_IF_ERROR(done.await());
  }
  return absl::OkStatus();
}

/// Small numbers of both signs, the same in f32 and bf16: neither zeros nor denormals, which some
/// machines treat apart.
HostArray operand(ComputeType dtype, int64_t size) {
  HostArray array(Shape{dtype == ComputeType::kF32 ? DType::kF32 : DType::kBF16, {size, size}});
  const std::span<std::byte> bytes = array.bytes();
  const size_t element = dtype == ComputeType::kF32 ? 4 : 2;
  uint32_t state = 1;
  for (size_t i = 0; i + element <= bytes.size(); i += element) {
    state = state * 1664525 + 1013904223;
    // Sign and three bits of mantissa around 1/16: the two high bytes, which are all of a bf16.
    const uint16_t high =
        static_cast<uint16_t>(0x3d80 | (state >> 31) << 15 | (state >> 28 & 7) << 4);
    bytes[i + element - 2] = static_cast<std::byte>(high & 0xff);
    bytes[i + element - 1] = static_cast<std::byte>(high >> 8);
  }
  return array;
}

}  // namespace

Result<double> measure_gemm_peak(const pjrt::Client& client, const Clock& clock,
                                 const GemmPeakOptions& options) {
  const std::string text =
      program(options.dtype == ComputeType::kF32 ? "f32" : "bf16", options.size);
  const HostArray matrix = operand(options.dtype, options.size);
  std::vector<Worker> workers;
  for (const pjrt::Device& device : client.addressable_devices()) {
    pjrt::CompileOptions compile_options;
    compile_options.device_ids = {device.id()};
    ASSIGN_OR_RETURN(pjrt::Executable executable, client.compile(text, compile_options));
    ASSIGN_OR_RETURN(pjrt::Buffer x, client.to_device(matrix, device));
    ASSIGN_OR_RETURN(pjrt::Buffer w, client.to_device(matrix, device));
    workers.push_back({std::move(executable), std::move(x), std::move(w)});
  }
  if (workers.empty()) return failed_precondition("the plugin has no device of this process");
  RETURN_IF_ERROR(run_all(workers, 1));  // the first run touches memory for the first time
  double best = 0;
  const double flops = 2.0 * static_cast<double>(options.size) * options.size * options.size;
  const absl::Duration end = clock.elapsed() + options.least_time;
  for (int64_t round = 0; round < 3 || clock.elapsed() < end; ++round) {
    constexpr int64_t kRepeats = 4;  // so that devices do not wait for each other's ends
    const absl::Duration begin = clock.elapsed();
    RETURN_IF_ERROR(run_all(workers, kRepeats));
    const double seconds = absl::ToDoubleSeconds(clock.elapsed() - begin);
    if (seconds > 0)
      best = std::max(best, flops * kRepeats / seconds);  // all devices did as much in this time
  }
  return best;
}

std::string GemmPeakCache::path(const std::string& key) const {
  const uint32_t hash = crc32c(std::as_bytes(std::span(key)));
  return join_path(folder_, absl::StrFormat("%08x.json", hash));
}

std::optional<GemmPeak> GemmPeakCache::find(const std::string& key, absl::Time now) const {
  if (folder_.empty()) return std::nullopt;
  const Result<std::string> text = files_.read_file(path(key));
  if (!text.ok()) return std::nullopt;
  const Json json = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  const bool whole = json.is_object() && json.contains("key") && json["key"] == key &&
                     json.contains("flops_per_device") && json["flops_per_device"].is_number() &&
                     json.contains("measured_unix_s") &&
                     json["measured_unix_s"].is_number_integer();
  if (!whole) return std::nullopt;
  const GemmPeak peak{json["flops_per_device"], absl::FromUnixSeconds(json["measured_unix_s"])};
  const absl::Duration age = now - peak.measured;
  const bool counts =
      peak.flops_per_device > 0 && age >= absl::ZeroDuration() && age <= absl::Hours(24 * 7);
  return counts ? std::optional(peak) : std::nullopt;
}

void GemmPeakCache::keep(const std::string& key, const GemmPeak& peak) const {
  if (folder_.empty() || !files_.create_dirs(folder_).ok()) return;
  const Json json = {{"key", key},
                     {"flops_per_device", peak.flops_per_device},
                     {"measured_unix_s", absl::ToUnixSeconds(peak.measured)}};
  files_.write_file_atomic(path(key), json.dump(1) + "\n").IgnoreError();
}

std::string gemm_peak_key(const pjrt::Client& client, const Machine& machine, ComputeType dtype) {
  const std::vector<pjrt::Device> devices = client.addressable_devices();
  return str_cat(client.platform_name(), ", ", client.platform_version(), ", ", devices.size(),
                 " x ", devices.empty() ? "" : devices[0].kind(), ", ", machine.cpu_model, ", ",
                 machine.cores, " cores",
                 machine.cpu_limit ? absl::StrFormat(" limited to %.2f", *machine.cpu_limit) : "",
                 dtype == ComputeType::kF32 ? ", f32" : ", bf16");
}

bool is_idle(const Machine& machine) {
  return machine.load && *machine.load <= 0.25 * machine.cores;
}

Result<GemmPeak> gemm_peak(const pjrt::Client& client, const Clock& clock,
                           const GemmPeakCache& cache, const GemmPeakOptions& options) {
  const Machine machine = options.machine ? *options.machine : probe_machine();
  const bool idle = is_idle(machine);
  const std::string key = gemm_peak_key(client, machine, options.dtype);
  const std::string busy_key = str_cat(key, ", busy");
  const absl::Time now = clock.now();
  if (const auto kept = cache.find(key, now)) return *kept;
  const auto busy = cache.find(busy_key, now);
  if (!idle && busy && now - busy->measured <= kWhileBusy) return *busy;
  ASSIGN_OR_RETURN(const double flops, measure_gemm_peak(client, clock, options));
  const GemmPeak peak{flops, clock.now()};
  cache.keep(idle ? key : busy_key, peak);
  return peak;
}

}  // namespace tessera
