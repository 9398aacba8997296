#include "tessera/cli/doctor.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tessera/base/environment.h"
#include "tessera/base/filesystem.h"
#include "tessera/base/format.h"
#include "tessera/base/strings.h"
#include "tessera/cli/doctor_cluster.h"
#include "tessera/kernels/kernel.h"
#include "tessera/pjrt/client.h"
#include "tessera/pjrt/plugin.h"
#include "tessera/train/gemm_peak.h"

namespace tessera::cli {
namespace {

constexpr const char* kVectorFlags[] = {"avx2", "fma", "avx512f", "avx512_bf16", "amx_bf16"};
constexpr const char* kSdkFolder = "xla-sdk-2.21.0";
constexpr double kGiB = 1024.0 * 1024 * 1024;

class Report {
 public:
  explicit Report(std::ostream& out) : out_(out) {}

  void heading(const std::string& name) { out_ << name << "\n"; }
  void line(const std::string& name, const std::string& value) {
    out_ << absl::StrFormat("  %-14s%s\n", name, value) << std::flush;
  }
  void add(std::vector<Finding> findings) {
    for (Finding& finding : findings) findings_.push_back(std::move(finding));
  }

  /// Prints what was found; the exit code.
  int finish() {
    out_ << "\n";
    if (findings_.empty()) out_ << "nothing is wrong\n";
    bool broken = false;
    for (const Finding& finding : findings_) {
      out_ << (finding.broken ? "broken: " : "could be better: ") << finding.what << "\n  "
           << finding.remedy << "\n";
      broken |= finding.broken;
    }
    return broken ? 1 : 0;
  }

 private:
  std::ostream& out_;
  std::vector<Finding> findings_;
};

void report_machine(Report& report) {
  const Machine machine = probe_machine();
  report.heading("machine");
  report.line("cpu", machine.cpu_model.empty() ? "unknown" : machine.cpu_model);
  report.line("cores",
              str_cat(machine.cores, machine.cpu_limit
                                         ? absl::StrFormat(", limited to %.1f", *machine.cpu_limit)
                                         : std::string()));
  std::vector<std::string> flags;
  for (const char* flag : kVectorFlags) {
    if (machine.cpu_flags.contains(flag)) flags.push_back(flag);
  }
  report.line("instructions", flags.empty() ? "none of AVX2 and later" : absl::StrJoin(flags, " "));
  std::string memory =
      str_cat(bytes_text(static_cast<double>(machine.memory_bytes)), ", ",
              bytes_text(static_cast<double>(machine.memory_available_bytes)), " free");
  if (machine.memory_limit_bytes) {
    str_append(&memory, ", limited to ",
               bytes_text(static_cast<double>(*machine.memory_limit_bytes)));
  }
  report.line("memory", memory);
  report.line("huge pages", machine.huge_pages.empty() ? "unknown" : machine.huge_pages);
  report.add(check_machine(machine));
}

void report_cache(Report& report, FileSystem& files) {
  report.heading("cache");
  const Result<std::string> cache = cache_folder();
  if (!cache.ok()) {
    report.line("folder", "none");
    report.add({{false, std::string(from_absl(cache.status().message())),
                 "Set TESSERA_CACHE to a folder."}});
    return;
  }
  const bool exists = files.exists(*cache);
  report.line("folder", str_cat(*cache, exists ? "" : " (not there)"));
  if (!exists) return;
  const bool has_sdk = files.exists(join_path(*cache, kSdkFolder));
  report.line("XLA SDK", has_sdk ? kSdkFolder : "not there");
  const Result<int64_t> free = files.free_bytes(*cache);
  if (!free.ok()) return;
  report.line("disk", str_cat(bytes_text(static_cast<double>(*free)), " free"));
  if (static_cast<double>(*free) < kGiB) {
    report.add(
        {{false,
          str_cat("the disk of ", *cache, " has ", bytes_text(static_cast<double>(*free)), " left"),
          "Free some space, or set TESSERA_CACHE to a folder on another disk."}});
  }
}

std::string attributes_text(const std::vector<pjrt::NamedValue>& attributes) {
  std::vector<std::string> texts;
  for (const pjrt::NamedValue& attribute : attributes) texts.push_back(to_string(attribute));
  return absl::StrJoin(texts, ", ");
}

Status report_client(Report& report, const pjrt::Plugin& plugin, bool measure) {
  ASSIGN_OR_RETURN(const pjrt::Client client, pjrt::Client::create(plugin));
  report.line("platform", str_cat(client.platform_name(), ", ", client.platform_version()));
  const std::vector<pjrt::Device> devices = client.addressable_devices();
  report.line("devices", str_cat(devices.size(), devices.empty() ? "" : " x " + devices[0].kind()));
  if (devices.empty()) return failed_precondition("the plugin has no device of this process");
  const Result<pjrt::DeviceMemoryStats> memory = devices[0].memory_stats();
  if (memory.ok() && memory->bytes_limit) {
    report.line("their memory", bytes_text(static_cast<double>(*memory->bytes_limit)));
  }
  if (!measure) return absl::OkStatus();
  const RealClock clock;
  for (const auto& [name, dtype] :
       {std::pair("f32 GEMM", ComputeType::kF32), std::pair("bf16 GEMM", ComputeType::kBf16)}) {
    ASSIGN_OR_RETURN(const double peak, measure_gemm_peak(client, clock, {.dtype = dtype}));
    report.line(name, absl::StrFormat("%.3g TFLOP/s a device", peak / 1e12));
  }
  return absl::OkStatus();
}

void report_plugin(Report& report, const std::string& name, bool measure) {
  report.heading(str_cat("plugin ", name));
  const Result<pjrt::Plugin> plugin = pjrt::Plugin::load(name);
  if (!plugin.ok()) {
    report.line("file", "does not load");
    report.add({{true, std::string(from_absl(plugin.status().message())),
                 "Build it, install it, or name another one with --plugin."}});
    return;
  }
  report.line("file", plugin->path());
  report.line("PJRT API", plugin->api_version());
  const std::string attributes = attributes_text(plugin->attributes());
  if (!attributes.empty()) report.line("versions", attributes);
  const Status status = report_client(report, *plugin, measure);
  if (status.ok()) return;
  report.add(
      {{true,
        str_cat("the plugin ", name, " loads, but does not work: ", from_absl(status.message())),
        "See whether its devices are there and free, and whether its version fits their driver."}});
}

void report_kernels(Report& report, const std::string& plugin) {
  report.heading("kernels (kernels=auto|off|names of a recipe)");
  for (const Kernel& kernel : all_kernels()) {
    std::string text(kernel.replaces);
    const std::string why_not = kernel.why_not == nullptr ? "" : kernel.why_not();
    const std::string restriction = kernel.restriction == nullptr ? "" : kernel.restriction();
    if (plugin != "cpu" && plugin.find("pjrt_cpu") == std::string::npos) {
      str_append(&text, "; none on the plugin ", plugin);
    } else if (!why_not.empty()) {
      str_append(&text, "; does not apply: ", why_not);
    } else {
      str_append(&text, "; applies", restriction.empty() ? "" : ", ", restriction, ": ",
                 kernel.takes);
    }
    report.line(std::string(kernel.name), text);
  }
}

class Doctor : public Command {
 public:
  CommandText text() const override {
    return {.name = "doctor",
            .summary = "Says what this machine has, which plugin loads, and what is misconfigured.",
            .details = "Exits 1 when something is broken."};
  }

  void fields(ConfigFields& f) override {
    f.field("plugin", plugin_)
        .not_empty()
        .help("PJRT plugin: cpu, cuda, rocm, tpu, or the path of its library.");
    f.field("measure", measure_).help("Measure matrix products on all devices (some seconds).");
    f.field("cluster", cluster_)
        .help(
            "Instead: run barriers over all processes and all-reduces over their devices, and name "
            "who is missing or slow. To be started as the processes of a run are.");
    f.field("rounds", cluster_options_.rounds)
        .range(1, 10'000)
        .help("How many barriers and all-reduces.");
    f.field("all_reduce_mb", cluster_options_.all_reduce_mb)
        .range(0, 1e6)
        .help("Megabytes that each device brings to an all-reduce; 0: none.");
    cluster_options_.config.fields(f);
  }

  Result<int> run(const Invocation& invocation) override {
    cluster_options_.plugin = plugin_;
    if (cluster_) return check_cluster(cluster_options_, invocation.out);
    Report report(invocation.out);
    PosixFileSystem files;
    report_machine(report);
    report_cache(report, files);
    report_plugin(report, plugin_, measure_);
    report_kernels(report, plugin_);
    return report.finish();
  }

 private:
  std::string plugin_ = "cpu";
  bool measure_ = false;
  bool cluster_ = false;
  ClusterCheckOptions cluster_options_;
};

}  // namespace

std::vector<Finding> check_machine(const Machine& machine) {
  std::vector<Finding> findings;
  if (!machine.cpu_flags.empty() && !machine.cpu_flags.contains("avx2")) {
    findings.push_back({false,
                        "the processor has no AVX2, so that CPU steps are several times slower",
                        "Use a machine with AVX2, better with AVX-512."});
  }
  if (machine.huge_pages == "never") {
    findings.push_back({false,
                        "transparent huge pages are off, which costs CPU steps time in page faults",
                        "As root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"});
  }
  if (machine.cpu_limit && *machine.cpu_limit < machine.cores - 0.5) {
    findings.push_back(
        {false,
         absl::StrFormat(
             "the container may use %.1f cores' time, but sees %d cores, so that too many "
             "threads are started",
             *machine.cpu_limit, machine.cores),
         "Give it whole cores (docker: --cpuset-cpus), or start under taskset with as many."});
  }
  const int64_t memory =
      std::min(machine.memory_bytes, machine.memory_limit_bytes.value_or(machine.memory_bytes));
  if (memory > 0 && static_cast<double>(memory) < 2 * kGiB) {
    findings.push_back(
        {false, str_cat("there are ", bytes_text(static_cast<double>(memory)), " of memory"),
         "Weights, moments and activations need room: give the machine or container more."});
  }
  return findings;
}

std::unique_ptr<Command> doctor() { return std::make_unique<Doctor>(); }

}  // namespace tessera::cli
