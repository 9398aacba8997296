#include "tessera/cli/processes.h"

#include "tessera/base/log.h"
#include "tessera/base/usage_error.h"
#include "tessera/coord/cluster.h"

namespace tessera::cli {

Result<std::unique_ptr<RunProcesses>> RunProcesses::join(FileSystem& files, Clock& clock) {
  auto run = std::make_unique<RunProcesses>();
  const coord::Surroundings surroundings = coord::real_surroundings();
  coord::ClusterConfig config;
  Status filled = config.fill_from(surroundings.environment);
  if (filled.ok()) filled = config.mtls.validate();
  if (!filled.ok()) return usage_error(filled);
  const auto cluster = coord::find_cluster(config, surroundings);
  if (!cluster.ok()) return usage_error(cluster.status());
  if (!*cluster || (*cluster)->processes == 1) {
    run->peers_ = std::make_unique<Peers>();
    return run;
  }
  const coord::ClusterSpec& spec = **cluster;
  ASSIGN_OR_RETURN(run->membership_,
                   coord::Membership::join(
                       config, spec, files, clock,
                       [watch = &run->watch_, process = spec.process,
                        processes = spec.processes](const Status& failure) {
                         log_error("this process takes part no longer: ",
                                   from_absl(failure.message()));
                         watch->fail(process, processes);
                       },
                       [watch = &run->watch_](const std::vector<coord::MemberChange>& changes) {
                         watch->take_changes(changes);
                       }));
  run->peers_ = std::make_unique<Peers>(run->membership_->client());
  return run;
}

Status RunProcesses::leave() {
  peers_ = std::make_unique<Peers>();  // before the client that it uses
  return membership_ ? membership_->leave() : absl::OkStatus();
}

}  // namespace tessera::cli
