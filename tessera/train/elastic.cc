#include "tessera/train/elastic.h"

#include <unistd.h>

#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "tessera/base/log.h"
#include "tessera/base/usage_error.h"
#include "tessera/coord/group_client.h"
#include "tessera/train/elastic_mesh.h"

namespace tessera {
namespace {

// A key-value: the run needs nobody any more.
constexpr char kOver[] = "tessera/run/over";
constexpr char kMemoryFolder[] = "/dev/shm";
constexpr absl::Duration kLook = absl::Seconds(1);    // until it looks whether it should stop
constexpr absl::Duration kMargin = absl::Seconds(5);  // for the coordinator to tell of a death

std::string names(const std::vector<coord::ProcessId>& processes) {
  std::vector<int> numbers;
  for (const coord::ProcessId& id : processes) numbers.push_back(id.process);
  return absl::StrJoin(numbers, ", ");
}

// What of the state survives is what others hold a second time, so there has to be a near tier.
RunConfig with_near_tier(RunConfig config) {
  if (!config.checkpoint.enabled || config.checkpoint.local.enabled()) return config;
  if (access(kMemoryFolder, W_OK) != 0) {
    log_warning("checkpoint.local.directory is not given, and there is no ", kMemoryFolder,
                ": after a death the run goes back to the last checkpoint in ",
                config.checkpoint_directory());
    return config;
  }
  config.checkpoint.local.directory = str_cat(kMemoryFolder, "/tessera-", getuid());
  log_info("checkpoint.local.directory: ", config.checkpoint.local.directory, ", every ",
           config.checkpoint.local.interval, " steps");
  return config;
}

class Elastic {
 public:
  Elastic(const RunConfig& config, const TrainEnvironment& environment, coord::Client& client,
          coord::Members& members, const ElasticOptions& options)
      : config_(with_near_tier(config)),
        environment_(environment),
        client_(client),
        members_(members),
        options_(options),
        goodput_(environment.clock) {}

  Result<TrainOutcome> run() {
    bool is_spare = false;
    while (true) {
      ASSIGN_OR_RETURN(const std::optional<coord::LiveSet> set, meet(is_spare));
      if (!set) return TrainOutcome{.step = step_, .stopped = true};
      ASSIGN_OR_RETURN(const std::optional<TrainOutcome> over, how_it_ended());
      if (over) return *over;
      is_spare = false;
      const auto least = static_cast<size_t>(options_.least_processes);
      for (size_t count = set->processes.size();; --count) {
        is_spare = set->processes[count - 1].process < client_.process();
        if (is_spare) break;
        MemberWatch watch;
        // Nobody is to wait for anybody of a group that has ended.
        coord::GroupClient group(client_, members_, *set,
                                 {set->processes.begin(), set->processes.begin() + count},
                                 str_cat(count), [&watch](const coord::GroupClient& ended) {
                                   watch.fail(ended.process(), ended.processes());
                                 });
        auto outcome = train_in(group, watch, *set);
        if (is_does_not_fit(outcome.status()) && count > least) {
          log_warning(from_absl(outcome.status().message()), "; trying it with fewer processes");
          continue;
        }
        if (outcome.ok() && !outcome->regroup) {
          RETURN_IF_ERROR(tell_the_end(*outcome));
          return outcome;
        }
        RETURN_IF_ERROR(outcome.ok() ? absl::OkStatus() : look_at(outcome.status(), group));
        break;
      }
      goodput_.begin_again();
      if (is_spare) log_info("the others go on; this process waits until it is needed");
    }
  }

 private:
  // Who waits, or comes late, must not go on alone.
  Status tell_the_end(const TrainOutcome& outcome) {
    return client_.insert(kOver, str_cat(outcome.stopped ? "stopped " : "done ", outcome.step),
                          /*overwrite=*/true);
  }
  Result<std::optional<TrainOutcome>> how_it_ended() {
    const auto text = client_.try_get(kOver);
    if (absl::IsNotFound(text.status())) return std::nullopt;
    RETURN_IF_ERROR(text.status());
    TrainOutcome outcome;
    const size_t space = text->find(' ');
    if (space == std::string::npos || !absl::SimpleAtoi(text->substr(space + 1), &outcome.step))
      return internal_error(kOver, " holds '", *text, "'");
    outcome.stopped = text->starts_with("stopped");
    return outcome;
  }

  /// All that live, once they are enough; nothing when the run is to stop. Who is not needed waits
  /// here for as long as the others train.
  Result<std::optional<coord::LiveSet>> meet(bool is_spare) {
    const absl::Duration start = environment_.clock.elapsed();
    bool told = false;
    while (!environment_.stop_requested()) {
      const bool late = !is_spare && environment_.clock.elapsed() - start > options_.timeout;
      const auto set = client_.live_set({}, kLook);
      if (absl::IsDeadlineExceeded(set.status()) && !late) continue;
      RETURN_IF_ERROR(set.status());
      const int64_t count = std::ssize(set->processes);
      if (count >= options_.least_processes) return *set;
      if (late) {
        return absl::DeadlineExceededError(str_cat(
            "for ", absl::FormatDuration(options_.timeout), " only ", count, " of at least ",
            options_.least_processes, " processes were there (", names(set->processes),
            "): start the others, or lower fault_tolerance.min_processes"));
      }
      if (!std::exchange(told, true)) {
        log_info("there are ", count, " processes, and at least ", options_.least_processes,
                 " are needed: waiting for others");
      }
      environment_.clock.sleep(kLook / 4);
    }
    return std::nullopt;
  }

  Result<TrainOutcome> train_in(coord::GroupClient& group, MemberWatch& watch,
                                const coord::LiveSet& set) {
    Peers peers(group);
    options_.on_group(peers);
    TrainEnvironment environment = environment_;
    environment.peers = &peers;
    environment.watch = &watch;
    environment.goodput = &goodput_;
    environment.all_processes = client_.processes();
    environment.regroup_requested = [&] { return !members_.newcomers(set.processes).empty(); };
    environment.on_step = [this](int64_t step) {
      step_ = step;
      failures_ = 0;
    };
    if (group.processes() < client_.processes())
      log_info("processes ", names(group.members()), " of ", client_.processes(), " train");
    return train(config_, environment);
  }

  /// OK where the error is of a process that was lost, without which the others go on.
  Status look_at(const Status& error, const coord::GroupClient& group) {
    if (is_usage_error(error)) return error;
    Status ended = group.failure();
    // A connection may break long before the coordinator hears that its other end is dead.
    if (ended.ok() && may_follow_from_others(error)) {
      log_warning(from_absl(error.message()), "; waiting to hear whether a process was lost");
      ended = group.wait_for_failure(client_.heartbeat_timeout() + kMargin);
    }
    if (ended.ok()) return error;
    RETURN_IF_ERROR(client_.failure());
    if (++failures_ > options_.most_failures) {
      return absl::AbortedError(str_cat(from_absl(ended.message()), ", after ", failures_ - 1,
                                        " losses without a step between them: giving up "
                                        "(fault_tolerance.max_failures)"));
    }
    log_warning(from_absl(ended.message()), "; the others go on without it");
    return absl::OkStatus();
  }

  const RunConfig config_;
  const TrainEnvironment& environment_;
  coord::Client& client_;
  coord::Members& members_;
  const ElasticOptions& options_;
  Goodput goodput_;
  int64_t step_ = 0;      // the last one that was made
  int64_t failures_ = 0;  // since then
};

}  // namespace

bool may_follow_from_others(const Status& error) {
  return absl::IsUnavailable(error) || absl::IsDeadlineExceeded(error) ||
         absl::IsCancelled(error) || absl::IsAborted(error) || absl::IsInternal(error);
}

Result<TrainOutcome> train_elastic(const RunConfig& config, const TrainEnvironment& environment,
                                   coord::Client& client, coord::Members& members,
                                   const ElasticOptions& options) {
  return Elastic(config, environment, client, members, options).run();
}

}  // namespace tessera
