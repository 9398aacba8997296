#include "tessera/cli/processes.h"

#include <chrono>
#include <cstdlib>

#include "tessera/base/log.h"
#include "tessera/base/usage_error.h"
#include "tessera/coord/cluster.h"
#include "tessera/train/elastic.h"

namespace tessera::cli {
namespace {

// For a process to end by itself once it is out of the cluster: then it holds up the others.
constexpr absl::Duration kToEnd = absl::Seconds(20);

}  // namespace

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
  ASSIGN_OR_RETURN(
      run->membership_,
      coord::Membership::join(
          config, *spec, files, clock,
          [run = run.get(), process = spec->process, processes = spec->processes](
              const Status& failure) { run->take_failure(failure, process, processes); },
          [run = run.get()](const std::vector<coord::MemberChange>& changes) {
            run->watch_.take_changes(changes);
            run->members_.take_changes(changes);
          }));
  run->peers_ = std::make_unique<Peers>(run->membership_->client());
  return run;
}

Status RunProcesses::leave() {
  peers_ = std::make_unique<Peers>();  // before the client that it uses
  return membership_ ? membership_->leave() : absl::OkStatus();
}

void RunProcesses::take_failure(const Status& failure, int process, int processes) {
  {
    const std::lock_guard lock(mutex_);
    failure_.Update(failure);
  }
  // What this process itself has reported comes back to it as well.
  if (!has_ended_) log_error("this process takes part no longer: ", from_absl(failure.message()));
  watch_.fail(process, processes);
  members_.fail(failure);
  if (!has_ended_ && elastic_client() != nullptr) end_soon();
}

void RunProcesses::end_soon() {
  // This may be a thread of the client's, and whatever else runs may be what does not get on.
  ender_ = Thread("end-soon", [this] {
    std::unique_lock lock(mutex_);
    if (ended_.wait_for(lock, absl::ToChronoMilliseconds(kToEnd), [&] { return over_; })) return;
    log_error("this process did not end by itself within ", absl::FormatDuration(kToEnd));
    std::_Exit(1);
  });
}

RunProcesses::~RunProcesses() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ended_.notify_all();
  membership_ = nullptr;  // whose threads may begin the next one
  ender_.join();
}

Status RunProcesses::end_with(const Status& error) {
  if (is_usage_error(error) || peers_->alone()) return error;
  has_ended_ = true;
  const Status failure = [&] {
    const std::lock_guard lock(mutex_);
    return failure_;
  }();
  coord::Client* elastic = elastic_client();
  if (failure.ok() && elastic != nullptr) {
    const coord::ProcessId own{elastic->process(), elastic->incarnation()};
    elastic->declare_dead(own, str_cat("failed: ", from_absl(error.message()))).IgnoreError();
  } else if (failure.ok()) {
    peers_->give_up(error);
  }
  return !failure.ok() && may_follow_from_others(error) ? failure : error;
}

}  // namespace tessera::cli
