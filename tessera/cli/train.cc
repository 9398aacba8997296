#include "tessera/cli/train.h"

#include <cstdint>

#include "absl/strings/str_format.h"
#include "tessera/base/signals.h"
#include "tessera/cli/recipe.h"
#include "tessera/train/trainer.h"

namespace tessera::cli {
namespace {

class TrainCommand : public Command {
 public:
  CommandText text() const override {
    return {.name = "train",
            .operands = "RECIPE [KEY=VALUE ...]",
            .summary = "Trains a model; the same command goes on where the last one stopped.",
            .details =
                "Goes on from the newest good checkpoint in output_directory. Ctrl-C saves and "
                "leaves; a second one "
                "leaves at once.\n\nExit codes: 0 done or stopped by request; 1 failed, or a "
                "checkpoint could not be "
                "saved; 2 a wrong recipe.",
            .min_operands = 1,
            .max_operands = SIZE_MAX};
  }

  void fields(ConfigFields&) override {}
  std::string more_help() const override { return recipe_help(); }

  Result<int> run(const Invocation& invocation) override {
    ASSIGN_OR_RETURN(const RunConfig config,
                     read_recipe(invocation.operands, /*needs_recipe=*/true));
    const InterruptGuard interrupts;
    PosixFileSystem files;
    RealClock clock;
    RunConfig shown = config;
    log_sink().print(ConfigFields(shown).to_yaml_with_origins());
    const TrainEnvironment environment{
        .files = files, .clock = clock, .log = log_sink(), .stop_requested = [&] {
          return interrupts.interrupted();
        }};
    ASSIGN_OR_RETURN(const TrainOutcome outcome, train(config, environment));
    if (outcome.stopped) {
      log_info("stopped after step ", outcome.step,
               " as asked; the same command goes on from there");
    } else {
      log_info("done: ", outcome.step, " steps");
    }
    if (!outcome.save_failure.ok()) {
      log_error("a checkpoint could not be saved: ", from_absl(outcome.save_failure.message()));
      return 1;
    }
    return 0;
  }
};

}  // namespace

std::unique_ptr<Command> train_command() { return std::make_unique<TrainCommand>(); }

}  // namespace tessera::cli
