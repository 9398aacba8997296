#include "tessera/train/examples_log.h"

#include <nlohmann/json.hpp>

#include "tessera/base/json.h"
#include "tessera/train/step_lines.h"

namespace tessera {
namespace {

std::string folder_in(const std::string& output_directory) {
  return join_path(output_directory, "examples");
}

}  // namespace

Status ExamplesLog::cut(FileSystem& files, const std::string& output_directory, int64_t step) {
  const std::string folder = folder_in(output_directory);
  RETURN_IF_ERROR(files.create_dirs(folder));
  ASSIGN_OR_RETURN(const std::vector<FileInfo> entries, files.list(folder));
  for (const FileInfo& entry : entries) {
    if (entry.name.ends_with(".jsonl"))
      RETURN_IF_ERROR(keep_lines(files, join_path(folder, entry.name), step));
  }
  return absl::OkStatus();
}

Result<std::unique_ptr<ExamplesLog>> ExamplesLog::open(FileSystem& files,
                                                       const std::string& output_directory,
                                                       int process) {
  const std::string name = str_cat("process-", process, ".jsonl");
  ASSIGN_OR_RETURN(auto file, files.append_file(join_path(folder_in(output_directory), name)));
  return std::unique_ptr<ExamplesLog>(new ExamplesLog(std::move(file)));
}

Status ExamplesLog::add(int64_t step, const Batch& batch) {
  const Json line = {{"step", step},
                     {"position", batch.position},
                     {"rows", batch.row_numbers},
                     {"sources", batch.sources},
                     {"examples", batch.example_ids}};
  return file_->append(line.dump() + "\n");
}

}  // namespace tessera
