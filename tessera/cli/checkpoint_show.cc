#include <nlohmann/json.hpp>

#include "absl/strings/str_join.h"
#include "tessera/base/format.h"
#include "tessera/base/json.h"
#include "tessera/cli/checkpoint_commands.h"
#include "tessera/cli/checkpoint_folder.h"

namespace tessera::cli {
namespace {

class CheckpointShow : public Command {
 public:
  CommandText text() const override {
    return {.name = "checkpoint show",
            .operands = "RUN",
            .summary = "Shows what a checkpoint holds: its arrays, mesh, data position and config.",
            .details = "RUN is a run's output directory, or the folder of its checkpoints.",
            .min_operands = 1,
            .max_operands = 1};
  }

  void fields(ConfigFields& f) override {
    f.field("step", step_)
        .at_least(0)
        .or_value(-1)
        .help("Which checkpoint; -1: the newest good one.");
  }

  Result<int> run(const Invocation& invocation) override {
    PosixFileSystem files;
    ASSIGN_OR_RETURN(const std::string folder, checkpoint_folder(files, invocation.operands[0]));
    const CheckpointManager manager(files, folder);
    ASSIGN_OR_RETURN(const int64_t step, pick_step(manager, step_));
    ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointReader> reader, manager.open(step));
    const Manifest& manifest = reader->manifest();
    invocation.out << "step " << manifest.step << " in " << reader->folder() << "\n";
    const std::pair<const char*, const std::string&> parts[] = {
        {"program", manifest.program_json}, {"mesh", manifest.mesh_json},
        {"rules", manifest.rules_json},     {"data", manifest.data_json},
        {"metrics", manifest.metrics_json}, {"config", manifest.config_json}};
    for (const auto& [name, json] : parts) {
      const bool says_nothing = json == "null" || json == "{}";
      if (!says_nothing) invocation.out << name << ": " << json << "\n";
    }
    TextTable table({false, false, false, true});
    for (const ArrayRecord& array : manifest.arrays) {
      table.add({array.spec.name, to_string(array.spec.shape),
                 str_cat("chunks of [", absl::StrJoin(array.spec.chunk_shape, ","), "]"),
                 bytes_text(static_cast<double>(array.spec.chunk_count() *
                                                array.spec.chunk_file_bytes()))});
    }
    invocation.out << table.text();
    return 0;
  }

 private:
  int64_t step_ = -1;
};

}  // namespace

std::unique_ptr<Command> checkpoint_show() { return std::make_unique<CheckpointShow>(); }

}  // namespace tessera::cli
