#include "tessera/cli/coordinator.h"

#include "tessera/base/clock.h"
#include "tessera/base/filesystem.h"
#include "tessera/base/log.h"
#include "tessera/base/signals.h"
#include "tessera/coord/cluster.h"
#include "tessera/coord/join.h"
#include "tessera/coord/server.h"

namespace tessera::cli {
namespace {

class CoordinatorCommand : public Command {
 public:
  CommandText text() const override {
    return {
        .name = "coordinator",
        .summary = "Serves the coordinator of a cluster, apart from its processes.",
        .details =
            "Processes find it by TESSERA_COORDINATOR_ADDRESS, with "
            "TESSERA_EXTERNAL_COORDINATOR=true. With --journal it may be killed and started again "
            "with the same arguments: the processes wait for it, for as long as their heartbeat "
            "timeout. Runs until SIGTERM or Ctrl-C, or with --until-done until all have left."};
  }

  void fields(ConfigFields& f) override {
    f.field("processes", processes_).range(1, 1'000'000).help("How many processes will come.");
    f.field("bind", options_.bind)
        .help("Where to listen, host:port; [::]:port for all interfaces. Port 0: any.");
    f.field("recoverable", options_.recoverable)
        .help("A process may die and come back; else its death ends all.");
    f.field("heartbeat_timeout_s", heartbeat_timeout_s_)
        .at_least(0.1)
        .help("Seconds without a heartbeat after which a process counts as dead.");
    f.field("journal", options_.journal)
        .help("Folder in which what was agreed outlives this process.");
    f.field("max_connections", options_.max_connections)
        .range(1, 1'000'000)
        .help("Connections at a time.");
    f.field("max_value_bytes", options_.max_value_bytes)
        .range(1, int64_t{1} << 30)
        .help("Of one key's value.");
    f.field("max_total_bytes", options_.max_total_bytes)
        .range(1, int64_t{1} << 34)
        .help("Of all key-values together.");
    f.field("until_done", until_done_).help("Exit once all processes have left or died.");
    f.field("debug", debug_).help("Log more.");
    options_.mtls.fields(f);
  }

  Result<int> run(const Invocation& invocation) override {
    if (debug_) log_sink().set_least_level(LogLevel::kDebug);
    options_.processes = static_cast<int>(processes_);
    options_.heartbeat_timeout = absl::Seconds(heartbeat_timeout_s_);
    Status config = options_.mtls.fill_from(coord::real_surroundings().environment);
    if (config.ok()) config = options_.mtls.validate();
    if (config.ok()) config = annotate(coord::parse_host_port(options_.bind).status(), "--bind");
    if (!config.ok()) return usage_error(config);
    PosixFileSystem files;
    RealClock clock;
    const InterruptGuard guard;
    coord::warn_of_plaintext(options_.bind, options_.mtls);
    ASSIGN_OR_RETURN(const auto server, coord::Server::start(options_, files, clock));
    ASSIGN_OR_RETURN(coord::HostPort address, coord::parse_host_port(options_.bind));
    address.port = server->port();
    invocation.out << "listening at " << coord::to_string(address) << std::endl;
    bool told = false;
    while (!guard.interrupted() && server->broken().ok() && !(until_done_ && server->all_gone())) {
      clock.sleep(absl::Milliseconds(50));
      if (told || server->failure().ok()) continue;
      told = true;
      log_error("coordinator: ", from_absl(server->failure().message()));
    }
    RETURN_IF_ERROR(server->broken());
    return until_done_ && !server->failure().ok() ? 1 : 0;
  }

 private:
  coord::ServerOptions options_ = {.bind = "127.0.0.1:55527"};
  int64_t processes_ = 1;
  double heartbeat_timeout_s_ = 100;
  bool until_done_ = false;
  bool debug_ = false;
};

}  // namespace

std::unique_ptr<Command> coordinator_command() { return std::make_unique<CoordinatorCommand>(); }

}  // namespace tessera::cli
