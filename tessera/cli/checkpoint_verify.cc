#include "tessera/cli/checkpoint_commands.h"
#include "tessera/cli/checkpoint_folder.h"
#include "tessera/storage/any_filesystem.h"

namespace tessera::cli {
namespace {

class CheckpointVerify : public Command {
 public:
  CommandText text() const override {
    return {.name = "checkpoint verify",
            .operands = "RUN",
            .summary = "Reads checkpoints and compares every byte with its checksum.",
            .details =
                "RUN is a run's output directory, or the folder of its checkpoints (s3:// too). "
                "Exits 1 when a byte differs.",
            .min_operands = 1,
            .max_operands = 1};
  }

  void fields(ConfigFields& f) override {
    f.field("step", step_).at_least(0).or_value(-1).help("Which checkpoint; -1: all.");
  }

  Result<int> run(const Invocation& invocation) override {
    AnyFileSystem files;
    ASSIGN_OR_RETURN(const std::string folder, checkpoint_folder(files, invocation.operands[0]));
    const CheckpointManager manager(files, folder);
    ASSIGN_OR_RETURN(std::vector<int64_t> steps, manager.list());
    if (steps.empty()) return not_found(folder, " has no checkpoint");
    if (step_ >= 0) steps = {step_};
    bool good = true;
    for (const int64_t step : steps) {
      ASSIGN_OR_RETURN(const std::vector<Damage> damages, manager.verify(step));
      invocation.out << "step " << step << ": " << (damages.empty() ? "good" : "damaged") << "\n";
      for (const Damage& damage : damages) {
        invocation.out << "  " << damage.file
                       << (damage.array.empty() ? "" : str_cat(" (", damage.array, ")")) << ": "
                       << damage.reason << "\n";
      }
      good &= damages.empty();
    }
    return good ? 0 : 1;
  }

 private:
  int64_t step_ = -1;
};

}  // namespace

std::unique_ptr<Command> checkpoint_verify() { return std::make_unique<CheckpointVerify>(); }

}  // namespace tessera::cli
