#include <nlohmann/json.hpp>

#include "absl/time/time.h"
#include "tessera/base/format.h"
#include "tessera/base/json.h"
#include "tessera/cli/checkpoint_commands.h"
#include "tessera/cli/checkpoint_folder.h"
#include "tessera/storage/any_filesystem.h"

namespace tessera::cli {
namespace {

std::string mesh_text(const std::string& mesh_json) {
  const Json mesh = Json::parse(mesh_json, nullptr, /*allow_exceptions=*/false);
  if (!mesh.is_object()) return "";
  if (mesh.empty()) return "one device";
  std::string text;
  for (const auto& [axis, size] : mesh.items())
    str_append(&text, text.empty() ? "" : " x ", axis, " ", size.dump());
  return text;
}

std::string loss_text(const std::string& metrics_json) {
  const Json metrics = Json::parse(metrics_json, nullptr, /*allow_exceptions=*/false);
  if (!metrics.is_object() || !metrics.contains("loss") || !metrics["loss"].is_number()) return "";
  return str_cat("loss ", metrics["loss"].get<double>());
}

int64_t bytes_of(const Manifest& manifest) {
  int64_t bytes = 0;
  for (const ArrayRecord& array : manifest.arrays) bytes += array.file_bytes();
  return bytes;
}

class CheckpointLs : public Command {
 public:
  CommandText text() const override {
    return {
        .name = "checkpoint ls",
        .operands = "RUN",
        .summary = "Lists the checkpoints of a run.",
        .details =
            "RUN is a run's output directory, or the folder of its checkpoints (s3:// too). Looks "
            "at manifests and file sizes; `checkpoint verify` reads every byte. Exits 1 when a "
            "checkpoint is damaged or cannot be read.",
        .min_operands = 1,
        .max_operands = 1};
  }

  Result<int> run(const Invocation& invocation) override {
    AnyFileSystem files;
    ASSIGN_OR_RETURN(const std::string folder, checkpoint_folder(files, invocation.operands[0]));
    const CheckpointManager manager(files, folder);
    ASSIGN_OR_RETURN(const std::vector<int64_t> steps, manager.list());
    if (steps.empty()) invocation.out << folder << " has no checkpoint\n";
    TextTable table({true, false, true, false, false, false});
    bool good = true;
    for (const int64_t step : steps) good &= add(manager, step, table);
    invocation.out << table.text();
    return good ? 0 : 1;
  }

 private:
  static bool add(const CheckpointManager& manager, int64_t step, TextTable& table) {
    const Status state = manager.check(step, CheckDepth::kFiles);
    const Result<std::unique_ptr<CheckpointReader>> reader = manager.open(step);
    if (!state.ok() || !reader.ok()) {
      const Status& why = state.ok() ? reader.status() : state;
      // Else it cannot be read by this program or this user, which says nothing against it.
      const bool is_damaged = absl::IsDataLoss(why) || absl::IsNotFound(why);
      table.add({str_cat("step ", step), is_damaged ? "damaged:" : "not read:", "",
                 std::string(from_absl(why.message())), "", ""});
      return false;
    }
    const Manifest& manifest = (*reader)->manifest();
    const absl::Time saved = absl::FromUnixSeconds(manifest.saved_unix_s);
    table.add({str_cat("step ", step),
               absl::FormatTime("%Y-%m-%d %H:%M:%S", saved, absl::LocalTimeZone()),
               bytes_text(static_cast<double>(bytes_of(manifest))),
               str_cat(manifest.arrays.size(), " arrays"), mesh_text(manifest.mesh_json),
               loss_text(manifest.metrics_json)});
    return true;
  }
};

}  // namespace

std::unique_ptr<Command> checkpoint_ls() { return std::make_unique<CheckpointLs>(); }

}  // namespace tessera::cli
