#include "tessera/cli/processes.h"

#include "tessera/base/log.h"
#include "tessera/base/usage_error.h"
#include "tessera/coord/cluster.h"

namespace tessera::cli {

Result<std::optional<coord::ClusterSpec>> run_cluster(coord::ClusterConfig* config) {
  const coord::Surroundings surroundings = coord::real_surroundings();
  Status filled = config->fill_from(surroundings.environment);
  if (filled.ok()) filled = config->mtls.validate();
  if (!filled.ok()) return usage_error(filled);
  auto spec = coord::find_cluster(*config, surroundings);
  if (!spec.ok()) return usage_error(spec.status());
  return spec;
}

Result<std::unique_ptr<RunProcesses>> RunProcesses::join(
    const coord::ClusterConfig& config, const std::optional<coord::ClusterSpec>& spec,
    FileSystem& files, Clock& clock) {
  auto run = std::make_unique<RunProcesses>();
  if (!spec || spec->processes == 1) {
    run->peers_ = std::make_unique<Peers>();
    return run;
  }
  ASSIGN_OR_RETURN(run->membership_,
                   coord::Membership::join(
                       config, *spec, files, clock,
                       [watch = &run->watch_, process = spec->process,
                        processes = spec->processes](const Status& failure) {
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
