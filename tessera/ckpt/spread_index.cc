#include "tessera/ckpt/spread_index.h"

#include <nlohmann/json.hpp>

#include "tessera/base/crc32c.h"
#include "tessera/base/json.h"
#include "tessera/ckpt/manager.h"
#include "tessera/ckpt/manifest.h"

namespace tessera {
namespace {

Status add_files(FileSystem& files, const std::string& folder, const std::string& below,
                 std::map<std::string, int64_t>* found) {
  ASSIGN_OR_RETURN(const std::vector<FileInfo> entries, files.list(join_path(folder, below)));
  for (const FileInfo& entry : entries) {
    const std::string path = join_path(below, entry.name);
    if (entry.is_directory) {
      RETURN_IF_ERROR(add_files(files, folder, path, found));
    } else {
      found->emplace(path, entry.size_bytes);
    }
  }
  return absl::OkStatus();
}

/// What another process removes meanwhile is not there.
bool is_gone(const Status& status) { return absl::IsNotFound(status); }

Status add_parts(FileSystem& files, const std::string& place, const std::string& name,
                 PlaceIndex* index) {
  const std::string folder = join_path(place, name);
  ASSIGN_OR_RETURN(const std::vector<int64_t> steps, CheckpointManager(files, folder).list());
  for (const int64_t step : steps) {
    CheckpointPart part{
        .step = step, .manifest_crc32c = 0, .folder = checkpoint_folder(name, step), .files = {}};
    const std::string path = join_path(place, part.folder);
    const std::string manifest = join_path(path, kCheckpointManifestFile);
    const Result<std::string> text = files.read_file(manifest);
    if (is_gone(text.status())) continue;
    RETURN_IF_ERROR(text.status());
    if (!manifest_from_text(*text, manifest).ok()) continue;
    part.manifest_crc32c = crc32c(std::as_bytes(std::span(*text)));
    const Status listed = add_files(files, path, "", &part.files);
    if (is_gone(listed)) continue;
    RETURN_IF_ERROR(listed);
    index->push_back(std::move(part));
  }
  return absl::OkStatus();
}

bool take(const Json& json, CheckpointPart* part) {
  const bool good = json.is_object() && json.contains("step") && json["step"].is_number_integer() &&
                    json.contains("crc32c") && json["crc32c"].is_number_unsigned() &&
                    json.contains("folder") && json["folder"].is_string() &&
                    json.contains("files") && json["files"].is_object();
  if (!good) return false;
  part->step = json["step"];
  part->manifest_crc32c = json["crc32c"];
  part->folder = json["folder"];
  for (const auto& [name, size] : json["files"].items()) {
    if (!size.is_number_integer()) return false;
    part->files.emplace(name, size);
  }
  return true;
}

}  // namespace

Result<PlaceIndex> index_place(FileSystem& files, const std::string& place) {
  PlaceIndex index;
  const Result<std::vector<FileInfo>> entries = files.list(place);
  if (absl::IsNotFound(entries.status())) return index;
  RETURN_IF_ERROR(entries.status());
  for (const FileInfo& entry : *entries) {
    if (entry.is_directory) RETURN_IF_ERROR(add_parts(files, place, entry.name, &index));
  }
  return index;
}

std::string to_text(const PlaceIndex& index) {
  Json list = Json::array();
  for (const CheckpointPart& part : index) {
    list.push_back({{"step", part.step},
                    {"crc32c", part.manifest_crc32c},
                    {"folder", part.folder},
                    {"files", part.files}});
  }
  return list.dump();
}

Result<PlaceIndex> place_index_from_text(const std::string& text) {
  const Json list = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  bool good = list.is_array();
  PlaceIndex index(good ? list.size() : 0);
  for (size_t i = 0; good && i < index.size(); ++i) good = take(list[i], &index[i]);
  if (good) return index;
  return data_loss("checkpoint: another process sent what is no list of what it holds");
}

}  // namespace tessera
