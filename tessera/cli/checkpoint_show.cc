#include <cmath>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tessera/base/format.h"
#include "tessera/cli/checkpoint_commands.h"
#include "tessera/cli/checkpoint_folder.h"
#include "tessera/storage/any_filesystem.h"

namespace tessera::cli {
namespace {

double norm_of(const HostArray& array) {
  double squares = 0;
  for (const double value : to_doubles(array)) squares += value * value;
  return std::sqrt(squares);
}

/// "params.layers.mlp.up" below "params.layers.attention.key": two parts in common.
size_t parts_in_common(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  size_t count = 0;
  while (count < a.size() && count < b.size() && a[count] == b[count]) ++count;
  return count;
}

class CheckpointShow : public Command {
 public:
  CommandText text() const override {
    return {
        .name = "checkpoint show",
        .operands = "RUN",
        .summary = "Shows what a checkpoint holds: its arrays, mesh, data position and config.",
        .details = "RUN is a run's output directory, or the folder of its checkpoints (s3:// too).",
        .min_operands = 1,
        .max_operands = 1};
  }

  void fields(ConfigFields& f) override {
    f.field("step", step_)
        .at_least(0)
        .or_value(-1)
        .help("Which checkpoint; -1: the newest good one.");
    f.field("norms", norms_).help("Read every array and show its L2 norm.");
  }

  Result<int> run(const Invocation& invocation) override {
    AnyFileSystem files;
    ASSIGN_OR_RETURN(const auto reader, open_checkpoint(files, invocation.operands[0], step_));
    const Manifest& manifest = reader->manifest();
    invocation.out << "step " << manifest.step << " in " << reader->folder() << "\n";
    const std::pair<const char*, const std::string&> parts[] = {
        {"program", manifest.program_json}, {"mesh", manifest.mesh_json},
        {"rules", manifest.rules_json},     {"data", manifest.data_json},
        {"rng", manifest.rng_json},         {"metrics", manifest.metrics_json},
        {"config", manifest.config_json}};
    for (const auto& [name, json] : parts) {
      const bool says_nothing = json == "null" || json == "{}";
      if (!says_nothing) invocation.out << name << ": " << json << "\n";
    }
    return print_tree(invocation, *reader);
  }

 private:
  /// A row a part of the names, indented by its depth.
  Result<int> print_tree(const Invocation& invocation, const CheckpointReader& reader) {
    TextTable table({false, false, false, true, true});
    std::vector<std::string> before;
    int64_t bytes = 0;
    for (const ArrayRecord& array : reader.manifest().arrays) {
      const std::vector<std::string> parts = absl::StrSplit(array.spec.name, '.');
      for (size_t i = parts_in_common(before, parts); i + 1 < parts.size(); ++i)
        table.add({std::string(2 * i, ' ') + parts[i], "", "", "", ""});
      std::string norm;
      if (norms_) {
        ASSIGN_OR_RETURN(const HostArray value, reader.read_array(array.spec.name));
        norm = absl::StrFormat("norm %.6g", norm_of(value));
      }
      table.add({std::string(2 * (parts.size() - 1), ' ') + parts.back(),
                 to_string(array.spec.shape),
                 str_cat("chunks of [", absl::StrJoin(array.spec.chunk_shape, ","), "]"),
                 bytes_text(static_cast<double>(array.file_bytes())), norm});
      bytes += array.file_bytes();
      before = parts;
    }
    invocation.out << table.text() << reader.manifest().arrays.size() << " arrays, "
                   << bytes_text(static_cast<double>(bytes)) << "\n";
    return 0;
  }

  int64_t step_ = -1;
  bool norms_ = false;
};

}  // namespace

std::unique_ptr<Command> checkpoint_show() { return std::make_unique<CheckpointShow>(); }

}  // namespace tessera::cli
