#include "tessera/base/clock.h"
#include "tessera/base/usage_error.h"
#include "tessera/cli/checkpoint_commands.h"
#include "tessera/cli/recipe.h"
#include "tessera/storage/any_filesystem.h"
#include "tessera/train/merge_adapters.h"

namespace tessera::cli {
namespace {

class CheckpointMerge : public Command {
 public:
  CommandText text() const override {
    return {.name = "checkpoint merge",
            .operands = "RECIPE [KEY=VALUE ...]",
            .summary = "Adds a run's low-rank adapters to the weights they were trained on.",
            .details =
                "RECIPE is that of the run with adapters. The result holds weights alone: "
                "`tessera generate` and checkpoint.initialize_from take it, with a recipe "
                "without lora.",
            .min_operands = 1,
            .max_operands = SIZE_MAX};
  }

  void fields(ConfigFields& f) override {
    f.field("output", output_).help("Folder for the checkpoint: an output_directory of its own.");
    f.field("step", step_).at_least(0).help("Of the checkpoint; null: the newest good one.");
    device_.fields(f);
  }

  std::string more_help() const override { return recipe_help(); }

  Result<int> run(const Invocation& invocation) override {
    if (output_.empty())
      return usage_error(invalid_argument("--output is missing: the folder of the result"));
    ASSIGN_OR_RETURN(RunConfig config,
                     read_recipe(invocation.operands, /*needs_recipe=*/true, device_.overrides()));
    if (output_ == config.output_directory)
      return usage_error(invalid_argument("--output is the run's own folder: choose another"));
    AnyFileSystem files;
    const RealClock clock;
    RETURN_IF_ERROR(files.check(config.checkpoint_directory(), /*writes=*/false));
    RETURN_IF_ERROR(files.check(output_, /*writes=*/true));
    ASSIGN_OR_RETURN(Session session, Session::open(std::move(config)));
    ASSIGN_OR_RETURN(const MergedAdapters merged,
                     merge_adapters(session, files, clock, output_, step_));
    invocation.out << "merged the adapters of step " << merged.step << " into " << merged.folder
                   << "\n";
    return 0;
  }

 private:
  std::string output_;
  std::optional<int64_t> step_;
  DeviceOptions device_;
};

}  // namespace

std::unique_ptr<Command> checkpoint_merge() { return std::make_unique<CheckpointMerge>(); }

}  // namespace tessera::cli
