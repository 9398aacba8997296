#include "absl/strings/str_join.h"
#include "tessera/base/usage_error.h"
#include "tessera/cli/checkpoint_commands.h"
#include "tessera/cli/checkpoint_folder.h"
#include "tessera/storage/any_filesystem.h"

namespace tessera::cli {
namespace {

class CheckpointPrune : public Command {
 public:
  CommandText text() const override {
    return {.name = "checkpoint prune",
            .operands = "RUN",
            .summary = "Removes checkpoints, all but the newest and those asked for.",
            .details =
                "RUN is a run's output directory, or the folder of its checkpoints (s3:// too); no "
                "run may be going on in it. Reads the newest checkpoint in full first: none is "
                "removed before "
                "one is known to be good. What a run that died left half written goes as well.",
            .min_operands = 1,
            .max_operands = 1};
  }

  void fields(ConfigFields& f) override {
    f.field("keep", keep_).at_least(1).help("How many of the newest good ones to keep.");
    f.field("keep_every_steps", keep_every_steps_)
        .at_least(0)
        .help("Keep those at multiples of this as well.");
    f.field("keep_best", keep_best_)
        .at_least(0)
        .help("Keep this many with the least best_metric as well.");
    f.field("best_metric", best_metric_).not_empty().help("What keep_best compares.");
    f.field("dry_run", dry_run_).help("Say what would be removed, and remove nothing.");
  }

  Result<int> run(const Invocation& invocation) override {
    if (!keep_)
      return usage_error(invalid_argument("--keep is missing: how many of the newest to keep"));
    AnyFileSystem files;
    ASSIGN_OR_RETURN(const std::string folder, checkpoint_folder(files, invocation.operands[0]));
    const CheckpointManager manager(files, folder,
                                    {.keep_last = *keep_,
                                     .keep_every_steps = keep_every_steps_,
                                     .keep_best = keep_best_,
                                     .best_metric = best_metric_});
    if (dry_run_) {
      ASSIGN_OR_RETURN(const std::vector<int64_t> steps, manager.surplus());
      return report(invocation, "would remove", steps, manager);
    }
    RETURN_IF_ERROR(manager.clean().status());  // and keeps runs out meanwhile
    ASSIGN_OR_RETURN(const std::vector<int64_t> steps, manager.prune());
    return report(invocation, "removed", steps, manager);
  }

 private:
  static Result<int> report(const Invocation& invocation, std::string_view verb,
                            const std::vector<int64_t>& steps, const CheckpointManager& manager) {
    if (steps.empty()) {
      invocation.out << verb << " nothing\n";
    } else {
      invocation.out << verb << (steps.size() == 1 ? " step " : " steps ")
                     << absl::StrJoin(steps, ", ") << "\n";
    }
    ASSIGN_OR_RETURN(const std::vector<int64_t> left, manager.list());
    if (left.empty()) return not_found(manager.directory(), " has no checkpoint");
    return 0;
  }

  std::optional<int64_t> keep_;
  int64_t keep_every_steps_ = 0;
  int64_t keep_best_ = 0;
  std::string best_metric_ = RetentionPolicy().best_metric;
  bool dry_run_ = false;
};

}  // namespace

std::unique_ptr<Command> checkpoint_prune() { return std::make_unique<CheckpointPrune>(); }

}  // namespace tessera::cli
