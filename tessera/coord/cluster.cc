#include "tessera/coord/cluster.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tessera/base/strings.h"

extern char** environ;

namespace tessera::coord {
namespace {

using Environment = std::map<std::string, std::string>;
using Found = Result<std::optional<ClusterSpec>>;

// Of the range that launchers' job numbers are mapped to, and Kubernetes' own.
constexpr int64_t kPorts = 4096;
constexpr int64_t kFirstPort = 61440;
constexpr int kKubernetesPort = 55527;

const std::string* value(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() || found->second.empty() ? nullptr : &found->second;
}

Result<int64_t> integer(const std::string& name, const std::string& text) {
  int64_t number = 0;
  if (absl::SimpleAtoi(text, &number)) return number;
  return invalid_argument(name, " is '", text, "'; required: an integer");
}

// Beyond int is outside any range that is asked for as well.
int narrow(int64_t number) { return static_cast<int>(std::clamp<int64_t>(number, -1, INT32_MAX)); }

Result<int64_t> integer(const Environment& environment, const std::string& name) {
  return integer(name, *value(environment, name));
}

Result<int> derived_port(const Environment& environment, int port) {
  const std::string* given = value(environment, "TESSERA_COORDINATOR_PORT");
  if (!given) return port;
  ASSIGN_OR_RETURN(const int64_t number, integer("TESSERA_COORDINATOR_PORT", *given));
  if (number < 1 || number > 65535) {
    return invalid_argument("TESSERA_COORDINATOR_PORT is ", number, "; required: from 1 to 65535");
  }
  return static_cast<int>(number);
}

// "1531576320.0;tcp://203.0.113.1,203.0.113.9:34911" or ";tcp6://[2001:db8::1,2001:db8::2]:34911".
Found openmpi(const Environment& environment) {
  const std::string* uri = value(environment, "OMPI_MCA_orte_hnp_uri");
  if (!uri) return std::nullopt;
  const Status wrong = invalid_argument("OMPI_MCA_orte_hnp_uri is '", *uri,
                                        "', which is not of the form JOB.0;tcp://ADDRESS,...:PORT");
  int64_t job = 0;
  if (!absl::SimpleAtoi(uri->substr(0, uri->find('.')), &job)) return wrong;
  std::string host;
  for (const auto& [scheme, end] :
       {std::pair(std::string("tcp6://["), ",]"), std::pair(std::string("tcp://"), ",:")}) {
    const size_t start = uri->find(scheme);
    if (start == std::string::npos) continue;
    const std::string rest = uri->substr(start + scheme.size());
    const size_t stop = rest.find_first_of(end);
    if (stop != std::string::npos) host = rest.substr(0, stop);
    break;
  }
  if (host.empty()) return wrong;
  for (const char* name :
       {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"}) {
    if (!value(environment, name)) {
      return failed_precondition(
          "Open MPI is there (OMPI_MCA_orte_hnp_uri), but ", name,
          " is not set. Start with mpirun, or give --cluster-detection=off.");
    }
  }
  ASSIGN_OR_RETURN(const int64_t size, integer(environment, "OMPI_COMM_WORLD_SIZE"));
  ASSIGN_OR_RETURN(const int64_t rank, integer(environment, "OMPI_COMM_WORLD_RANK"));
  ASSIGN_OR_RETURN(const int64_t local, integer(environment, "OMPI_COMM_WORLD_LOCAL_RANK"));
  ASSIGN_OR_RETURN(const int port,
                   derived_port(environment, static_cast<int>(job / kPorts % kPorts + kFirstPort)));
  return ClusterSpec{.method = "openmpi",
                     .coordinator = to_string({host, port}),
                     .processes = narrow(size),
                     .process = narrow(rank),
                     .local_process = narrow(local)};
}

constexpr std::array<const char*, 5> kSlurm = {"SLURM_JOB_ID", "SLURM_STEP_NODELIST",
                                               "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID"};

// A shell inside an allocation has some of the variables; a task of srun's has all.
Found slurm(const Environment& environment) {
  for (const char* name : kSlurm) {
    if (!value(environment, name)) return std::nullopt;
  }
  ASSIGN_OR_RETURN(const int64_t job, integer(environment, "SLURM_JOB_ID"));
  ASSIGN_OR_RETURN(const int64_t tasks, integer(environment, "SLURM_NTASKS"));
  ASSIGN_OR_RETURN(const int64_t task, integer(environment, "SLURM_PROCID"));
  ASSIGN_OR_RETURN(const int64_t local, integer(environment, "SLURM_LOCALID"));
  ASSIGN_OR_RETURN(const std::string host, first_host(*value(environment, "SLURM_STEP_NODELIST")));
  ASSIGN_OR_RETURN(const int port,
                   derived_port(environment, static_cast<int>(job % kPorts + kFirstPort)));
  return ClusterSpec{.method = "slurm",
                     .coordinator = to_string({host, port}),
                     .processes = narrow(tasks),
                     .process = narrow(task),
                     .local_process = narrow(local)};
}

// The pods of an indexed Job have JOB_COMPLETION_INDEX, and the host names JOB-INDEX.SUBDOMAIN. (Of
// a JobSet: JOBSET-REPLICATEDJOB-JOBINDEX-INDEX.JOBSET.) How many there are stands only in the Job,
// so the manifest has to say it once more.
Found kubernetes(const Environment& environment, const std::string& host_name) {
  if (!value(environment, "KUBERNETES_SERVICE_HOST")) return std::nullopt;
  const std::string* count = value(environment, "TESSERA_NUM_PROCESSES");
  const std::string* index_text = value(environment, "JOB_COMPLETION_INDEX");
  if (!index_text) {
    if (!count) return std::nullopt;  // a pod that is no job of ours
    return failed_precondition(
        "under Kubernetes, without JOB_COMPLETION_INDEX: the Job is not indexed. Add to its "
        "spec:\n  completionMode: Indexed");
  }
  if (!count) {
    return failed_precondition(
        "under Kubernetes, without TESSERA_NUM_PROCESSES: add the Job's parallelism to the "
        "container:\n  env:\n  - name: TESSERA_NUM_PROCESSES\n    value: \"8\"");
  }
  ASSIGN_OR_RETURN(const int64_t processes, integer("TESSERA_NUM_PROCESSES", *count));
  ASSIGN_OR_RETURN(const int64_t index, integer(environment, "JOB_COMPLETION_INDEX"));
  const std::vector<std::string> parts = absl::StrSplit(host_name, '.');
  const std::string suffix = str_cat("-", index);
  if (!parts[0].ends_with(suffix)) {
    return failed_precondition("under Kubernetes, but the host name '", host_name,
                               "' does not end in JOB_COMPLETION_INDEX (", index,
                               "): give --coordinator-address");
  }
  const std::string job = parts[0].substr(0, parts[0].size() - suffix.size());
  const std::string* given = value(environment, "TESSERA_KUBERNETES_SUBDOMAIN");
  const std::string subdomain = given ? *given : parts.size() > 1 ? parts[1] : "";
  if (subdomain.empty()) {
    return failed_precondition(
        "under Kubernetes, but pods have no subdomain, so they cannot find one another. Make a "
        "headless service (clusterIP: None, publishNotReadyAddresses: true, selector job-name: ",
        job, ") and add to the Job:\n  spec:\n    template:\n      spec:\n        subdomain: ", job,
        "\nwhere ", job, " is the service's name");
  }
  ASSIGN_OR_RETURN(const int port, derived_port(environment, kKubernetesPort));
  return ClusterSpec{.method = "kubernetes",
                     .coordinator = str_cat(job, "-0.", subdomain, ":", port),
                     .processes = narrow(processes),
                     .process = narrow(index)};
}

Found detect(const std::string& method, const Surroundings& surroundings) {
  constexpr std::array<std::string_view, 5> kMethods = {"auto", "openmpi", "slurm", "kubernetes",
                                                        "off"};
  if (std::find(kMethods.begin(), kMethods.end(), method) == kMethods.end()) {
    return invalid_argument("TESSERA_CLUSTER_DETECTION is '", method,
                            "'; required: auto, openmpi, slurm, kubernetes or off");
  }
  const bool all = method == "auto";
  std::optional<ClusterSpec> found;
  if (all || method == "openmpi") {
    ASSIGN_OR_RETURN(found, openmpi(surroundings.environment));
  }
  if (!found && (all || method == "slurm")) {
    ASSIGN_OR_RETURN(found, slurm(surroundings.environment));
  }
  if (!found && (all || method == "kubernetes")) {
    ASSIGN_OR_RETURN(found, kubernetes(surroundings.environment, surroundings.host_name));
  }
  if (!found && !all && method != "off") {
    return failed_precondition("--cluster-detection is ", method,
                               ", but its variables are not in the environment");
  }
  return found;
}

Status check_numbers(const ClusterSpec& spec) {
  if (spec.processes < 1) {
    return invalid_argument("the number of processes (--num-processes, TESSERA_NUM_PROCESSES, or ",
                            "the launcher's) is ", spec.processes, "; required: at least 1");
  }
  if (spec.process < 0 || spec.process >= spec.processes) {
    return invalid_argument("this is process ", spec.process, " of ", spec.processes,
                            " (--process-id, TESSERA_PROCESS_ID, or the launcher's number); ",
                            "required: from 0 to ", spec.processes - 1);
  }
  return annotate(parse_host_port(spec.coordinator).status(),
                  "the coordinator's address (--coordinator-address, TESSERA_COORDINATOR_ADDRESS)");
}

}  // namespace

Result<std::string> first_host(const std::string& node_list) {
  std::string host;
  bool in_brackets = false, taken = false;  // taken: the first of this bracket's numbers
  for (const char c : node_list) {
    if (c == '[') {
      in_brackets = true;
      taken = false;
    } else if (c == ']') {
      in_brackets = false;
    } else if (in_brackets) {
      taken = taken || c == ',' || c == '-';
      if (!taken) host += c;
    } else if (c == ',') {
      break;
    } else {
      host += c;
    }
  }
  if (host.empty() || in_brackets) {
    return invalid_argument("'", node_list, "' is no list of nodes as Slurm writes it");
  }
  return host;
}

void ClusterConfig::fields(ConfigFields& f) {
  f.field("coordinator_address", coordinator_address)
      .help(
          "Where the coordinator is, host:port. Default: $TESSERA_COORDINATOR_ADDRESS, else as "
          "the launcher says.");
  f.field("num_processes", num_processes)
      .at_least(1)
      .help(
          "How many processes there are. Default: $TESSERA_NUM_PROCESSES, else as the launcher "
          "says.");
  f.field("process_id", process_id)
      .at_least(0)
      .help(
          "Which of them this is, from 0. Default: $TESSERA_PROCESS_ID, else as the launcher "
          "says.");
  f.field("cluster_detection", cluster_detection)
      .one_of({"auto", "openmpi", "slurm", "kubernetes", "off"})
      .help(
          "Which launcher's variables to look at. Default: $TESSERA_CLUSTER_DETECTION, else auto.");
  f.field("external_coordinator", external_coordinator)
      .help(
          "The coordinator runs by itself; else process 0 serves. Default: "
          "$TESSERA_EXTERNAL_COORDINATOR.");
  f.field("coordinator_bind_address", coordinator_bind_address)
      .help(
          "Where process 0 listens, host:port. Default: $TESSERA_COORDINATOR_BIND_ADDRESS, else "
          "the coordinator address's interface.");
  f.field("connect_timeout_s", connect_timeout_s)
      .above(0)
      .help("Seconds in which all processes have to come.");
  f.field("heartbeat_timeout_s", heartbeat_timeout_s)
      .at_least(0.1)
      .help(
          "Seconds without a heartbeat after which a process counts as dead (a coordinator in "
          "process 0).");
  f.field("recoverable", recoverable)
      .help("Processes may die and come back (a coordinator in process 0).");
  f.field("journal", journal)
      .help("Folder in which what the coordinator knows outlives it (in process 0).");
  mtls.fields(f);
}

Status ClusterConfig::fill_from(const Environment& environment) {
  for (const auto& [name, field] :
       {std::pair("TESSERA_COORDINATOR_ADDRESS", &coordinator_address),
        std::pair("TESSERA_COORDINATOR_BIND_ADDRESS", &coordinator_bind_address)}) {
    const std::string* found = value(environment, name);
    if (field->empty() && found) *field = *found;
  }
  for (const auto& [name, field] : {std::pair("TESSERA_NUM_PROCESSES", &num_processes),
                                    std::pair("TESSERA_PROCESS_ID", &process_id)}) {
    if (*field || !value(environment, name)) continue;
    ASSIGN_OR_RETURN(*field, integer(environment, name));
  }
  const std::string* method = value(environment, "TESSERA_CLUSTER_DETECTION");
  if (method && cluster_detection == "auto") cluster_detection = *method;
  if (const std::string* external = value(environment, "TESSERA_EXTERNAL_COORDINATOR")) {
    bool yes = false;
    if (!absl::SimpleAtob(*external, &yes)) {
      return invalid_argument("TESSERA_EXTERNAL_COORDINATOR is '", *external,
                              "'; required: true or false");
    }
    external_coordinator = external_coordinator || yes;
  }
  return mtls.fill_from(environment);
}

Result<std::optional<ClusterSpec>> find_cluster(const ClusterConfig& config,
                                                const Surroundings& surroundings) {
  const bool has_address = !config.coordinator_address.empty();
  const bool has_count = config.num_processes.has_value();
  const bool has_number = config.process_id.has_value();
  std::optional<ClusterSpec> found;
  if (!has_address || !has_count || !has_number) {
    ASSIGN_OR_RETURN(found, detect(config.cluster_detection, surroundings));
  }
  if (!found && !has_address && !has_count && !has_number) return std::nullopt;
  if (!found) {
    if (!has_address) {
      return failed_precondition(
          "the coordinator's address is not known: give --coordinator-address or "
          "TESSERA_COORDINATOR_ADDRESS");
    }
    if (!has_count) {
      return failed_precondition(
          "the number of processes is not known: give --num-processes or TESSERA_NUM_PROCESSES");
    }
    if (!has_number) {
      return failed_precondition(
          "which process this is is not known: give --process-id or TESSERA_PROCESS_ID");
    }
    found = ClusterSpec{.method = "flags", .coordinator = ""};
  }
  if (has_address) found->coordinator = config.coordinator_address;
  if (has_count) found->processes = narrow(*config.num_processes);
  if (has_number) found->process = narrow(*config.process_id);
  RETURN_IF_ERROR(check_numbers(*found));
  return found;
}

std::string half_a_launcher(const std::map<std::string, std::string>& environment) {
  std::vector<std::string> missing;
  for (const char* name : kSlurm) {
    if (!value(environment, name)) missing.push_back(name);
  }
  if (missing.empty() || missing.size() == kSlurm.size()) return "";
  return str_cat("Slurm is there, but not ", absl::StrJoin(missing, ", "),
                 ", which a task of srun's has");
}

Surroundings real_surroundings() {
  Surroundings surroundings;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    surroundings.environment[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  std::array<char, 256> name = {};
  if (gethostname(name.data(), name.size() - 1) == 0) surroundings.host_name = name.data();
  if (!surroundings.environment.contains("KUBERNETES_SERVICE_HOST")) return surroundings;
  addrinfo hints = {};
  hints.ai_flags = AI_CANONNAME;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(name.data(), nullptr, &hints, &found) == 0 && found) {
    if (found->ai_canonname) surroundings.host_name = found->ai_canonname;
    freeaddrinfo(found);
  }
  return surroundings;
}

}  // namespace tessera::coord
