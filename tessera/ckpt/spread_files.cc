#include "tessera/ckpt/spread_files.h"

#include <algorithm>
#include <set>
#include <utility>

namespace tessera {
SpreadFiles::SpreadFiles(std::string name, std::vector<Place> places) : name_(std::move(name)) {
  std::set<int64_t> steps;
  for (const Place& place : places) {
    for (const CheckpointPart& part : place.index) steps.insert(part.step);
  }
  for (const int64_t step : steps) add(step, places);
}

void SpreadFiles::add(int64_t step, const std::vector<Place>& places) {
  // By save; which of several is taken must not depend on the order of places.
  std::map<uint32_t, std::map<std::string, File>> saves;
  for (const Place& place : places) {
    for (const CheckpointPart& part : place.index) {
      if (part.step != step) continue;
      for (const auto& [name, size] : part.files) {
        File& file = saves[part.manifest_crc32c][name];
        // Of a file that was cut short somewhere the longest is the one to look at.
        if (size > file.size_bytes) file.copies.clear();
        if (size < file.size_bytes) continue;
        file.size_bytes = size;
        file.copies.push_back({place.files, join_path(join_path(place.path, part.folder), name)});
      }
    }
  }
  const auto most = std::max_element(saves.begin(), saves.end(), [](const auto& a, const auto& b) {
    return a.second.size() < b.second.size();
  });
  for (auto& [name, file] : most->second)
    files_.emplace(join_path(std::to_string(step), name), std::move(file));
}

std::string SpreadFiles::relative(const std::string& path) const {
  if (path.size() <= name_.size() + 1 || !path.starts_with(name_ + "/")) return "";
  return path.substr(name_.size() + 1);
}

Result<std::unique_ptr<ReadableFile>> SpreadFiles::open_file(const std::string& path) {
  const auto file = files_.find(relative(path));
  if (file == files_.end()) return not_found(path, ": is on none of the processes");
  size_t first;
  {
    const std::lock_guard lock(mutex_);
    first = file->second.first;
  }
  const std::vector<Copy>& copies = file->second.copies;
  Status status;
  for (size_t i = 0; i < copies.size(); ++i) {
    const Copy& copy = copies[(first + i) % copies.size()];
    auto opened = copy.files->open_file(copy.path);
    if (opened.ok()) return opened;
    status.Update(opened.status());
  }
  return annotate(status, path);
}

bool SpreadFiles::another_copy(const std::string& path) {
  const auto file = files_.find(relative(path));
  if (file == files_.end()) return false;
  const std::lock_guard lock(mutex_);
  // Several readers may find the same damage, so each copy gets more than one chance.
  if (++file->second.damages > 2 * file->second.copies.size()) return false;
  file->second.first = (file->second.first + 1) % file->second.copies.size();
  return file->second.copies.size() > 1;
}

Result<std::vector<FileInfo>> SpreadFiles::list(const std::string& path) {
  const std::string below = path == name_ ? "" : relative(path) + "/";
  std::vector<FileInfo> entries;  // sorted, as the paths are but for the '/' in them
  for (auto at = files_.lower_bound(below); at != files_.end() && at->first.starts_with(below);
       ++at) {
    const std::string rest = at->first.substr(below.size());
    const size_t slash = rest.find('/');
    const std::string name = rest.substr(0, slash);
    const bool is_directory = slash != std::string::npos;
    if (!entries.empty() && entries.back().name == name) continue;
    entries.push_back({name, is_directory, is_directory ? 0 : at->second.size_bytes});
  }
  if (entries.empty() && path != name_) return not_found(path, ": no such folder");
  std::sort(entries.begin(), entries.end(),
            [](const FileInfo& a, const FileInfo& b) { return a.name < b.name; });
  return entries;
}

Result<FileInfo> SpreadFiles::stat(const std::string& path) {
  if (const auto file = files_.find(relative(path)); file != files_.end())
    return FileInfo{base_name(path), false, file->second.size_bytes};
  RETURN_IF_ERROR(list(path).status());
  return FileInfo{base_name(path), true, 0};
}

Status SpreadFiles::refuse(const std::string& path) const {
  return absl::UnimplementedError(str_cat(path, ": is spread over processes, and read only"));
}

}  // namespace tessera
