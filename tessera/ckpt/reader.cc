#include "tessera/ckpt/reader.h"

#include <map>
#include <mutex>
#include <set>

#include "absl/strings/str_format.h"
#include "tessera/base/crc32c.h"
#include "tessera/base/nearest.h"
#include "tessera/ckpt/chunk_file.h"
#include "tessera/ckpt/parallel.h"

namespace tessera {
namespace {

/// One file with chunks, and what is expected of it.
struct ChunkFile {
  const ArrayRecord* record;
  size_t chunk;

  std::string path(const std::string& folder) const {
    const Dims grid = record->spec.grid();
    return join_path(join_path(folder, array_folder(record->spec.name)),
                     chunk_file_name(grid_index(static_cast<int64_t>(chunk), grid)));
  }
};

std::vector<ChunkFile> chunk_files(const Manifest& manifest) {
  std::vector<ChunkFile> files;
  for (const ArrayRecord& record : manifest.arrays) {
    for (size_t i = 0; i < record.chunk_checksums.size(); ++i) files.push_back({&record, i});
  }
  return files;
}

/// The reason in a status whose message starts with the path.
Damage damage_of(const std::string& path, std::string array, const Status& status) {
  std::string_view reason = from_absl(status.message());
  const std::string prefix = path + ": ";
  if (reason.starts_with(prefix)) reason.remove_prefix(prefix.size());
  return {path, std::move(array), std::string(reason), status.code()};
}

}  // namespace

std::string describe(std::span<const Damage> damages) {
  if (damages.empty()) return "nothing is damaged";
  const Damage& first = damages.front();
  std::string text = str_cat(first.file, ": ", first.reason);
  if (!first.array.empty()) str_append(&text, " (parameter ", first.array, ")");
  if (damages.size() > 1) str_append(&text, ", and ", damages.size() - 1, " more");
  return text;
}

Result<std::unique_ptr<CheckpointReader>> CheckpointReader::open(FileSystem& files,
                                                                 std::string folder) {
  const std::string path = join_path(folder, kCheckpointManifestFile);
  const Result<std::string> text = files.read_file(path);
  if (absl::IsNotFound(text.status())) {
    return not_found(folder, ": has no ", kCheckpointManifestFile,
                     ": it is no checkpoint, or one that was never completed");
  }
  RETURN_IF_ERROR(text.status());
  ASSIGN_OR_RETURN(Manifest manifest, manifest_from_text(*text, path));
  return std::unique_ptr<CheckpointReader>(
      new CheckpointReader(files, std::move(folder), std::move(manifest)));
}

std::string CheckpointReader::array_path(std::string_view name) const {
  return join_path(folder_, array_folder(name));
}

Result<const ArrayRecord*> CheckpointReader::array_info(std::string_view name) const {
  if (const ArrayRecord* record = manifest_.find(name)) return record;
  std::vector<std::string> names;
  for (const ArrayRecord& record : manifest_.arrays) names.push_back(record.spec.name);
  const std::string near = nearest(name, names);
  return not_found(folder_, ": holds no array named ", name,
                   near.empty() ? "" : str_cat("; did you mean ", near, "?"));
}

Status CheckpointReader::with_hint(const Status& status, std::string_view name) const {
  if (!absl::IsDataLoss(status)) return annotate(status, str_cat("parameter ", name));
  const std::string hint = damage_hint_ ? damage_hint_() : "";
  return data_loss(status.message(), " (parameter ", name, " of checkpoint step ", manifest_.step,
                   ")", hint.empty() ? "" : ". ", hint);
}

Result<const ArrayRecord*> CheckpointReader::check_region(const RegionRead& region) const {
  const auto& [name, box, out] = region;
  ASSIGN_OR_RETURN(const ArrayRecord* record, array_info(name));
  const ArraySpec& spec = record->spec;
  const Box whole{Dims(spec.shape.dims.size(), 0), spec.shape.dims};
  if (box.dims.size() != whole.dims.size() || box.start.size() != whole.dims.size()) {
    return invalid_argument("parameter ", name, " ", to_string(spec.shape),
                            " has no region of rank ", box.dims.size());
  }
  if (box.elements() > 0 && intersect(box, whole) != box) {
    return invalid_argument("parameter ", name, " ", to_string(spec.shape), " has no region ",
                            to_string(box));
  }
  const int64_t bytes = box.elements() * dtype_host_bytes(spec.shape.dtype);
  if (static_cast<int64_t>(out.size()) == bytes) return record;
  return invalid_argument("parameter ", name, " ", to_string(box), " takes ", bytes, " bytes, not ",
                          out.size());
}

Result<std::vector<CheckpointReader::ChunkRead>> CheckpointReader::plan(
    std::span<const RegionRead> regions) const {
  std::map<Dims, ChunkRead> reads;  // by index
  for (const RegionRead& region : regions) {
    ASSIGN_OR_RETURN(const ArrayRecord* record, check_region(region));
    RETURN_IF_ERROR(
        for_each_cell(region.box, record->spec.chunk_shape, [&](const Dims& index) -> Status {
          ChunkRead& read = reads.try_emplace(index, ChunkRead{record, index, {}}).first->second;
          if (read.record != record) return internal_error("regions of two arrays in one plan");
          read.to.push_back({region.box, region.out.data()});
          return absl::OkStatus();
        }));
  }
  std::vector<ChunkRead> plan;
  for (auto& [index, read] : reads) plan.push_back(std::move(read));
  return plan;
}

Status CheckpointReader::read(const ChunkRead& chunk) const {
  const ArraySpec& spec = chunk.record->spec;
  const size_t number = static_cast<size_t>(linear_index(chunk.chunk, spec.grid()));
  const std::string path = ChunkFile{chunk.record, number}.path(folder_);
  Status status;
  do {
    int64_t read = 0;
    status = read_chunk_file(files_, path, spec, spec.chunk_box(chunk.chunk),
                             chunk.record->stored(number), chunk.to, scratch_, &read);
    bytes_read_ += read;
  } while (absl::IsDataLoss(status) && files_.another_copy(path));
  return with_hint(status, spec.name);
}

Status CheckpointReader::read_region(std::string_view name, const Box& box,
                                     std::span<std::byte> out) const {
  const RegionRead region{name, box, out};
  ASSIGN_OR_RETURN(const std::vector<ChunkRead> reads, plan({&region, 1}));
  for (const ChunkRead& chunk : reads) RETURN_IF_ERROR(read(chunk));
  return absl::OkStatus();
}

Result<HostArray> CheckpointReader::read_array(std::string_view name) const {
  ASSIGN_OR_RETURN(const ArrayRecord* record, array_info(name));
  HostArray array(record->spec.shape);
  const Dims& dims = record->spec.shape.dims;
  RETURN_IF_ERROR(read_region(name, {Dims(dims.size(), 0), dims}, array.bytes()));
  return array;
}

std::vector<Damage> CheckpointReader::check_files(bool only_first) const {
  std::vector<Damage> damages;
  for (const ArrayRecord& record : manifest_.arrays) {
    check_files_of(record, &damages);
    if (only_first && !damages.empty()) {
      damages.resize(1);
      break;
    }
  }
  return damages;
}

// One list() an array: over a network, asking for each file would take a round trip each.
void CheckpointReader::check_files_of(const ArrayRecord& record,
                                      std::vector<Damage>* damages) const {
  const std::string& name = record.spec.name;
  const Result<std::vector<FileInfo>> entries = files_.list(array_path(name));
  if (!entries.ok() && !absl::IsNotFound(entries.status())) {
    damages->push_back(damage_of(array_path(name), name, entries.status()));
    return;
  }
  std::map<std::string_view, const FileInfo*> found;
  if (entries.ok()) {
    for (const FileInfo& entry : *entries) found.emplace(entry.name, &entry);
  }
  for (size_t i = 0; i < record.chunk_checksums.size(); ++i) {
    const std::string path = ChunkFile{&record, i}.path(folder_);
    const int64_t expected = record.stored(i).file_bytes;
    const auto file = found.find(base_name(path));
    if (file == found.end() || file->second->is_directory) {
      damages->push_back({path, name, "is missing"});
    } else if (const int64_t size = file->second->size_bytes; size != expected) {
      damages->push_back({path, name, str_cat("has ", size, " bytes instead of ", expected)});
    }
  }
}

std::vector<Damage> CheckpointReader::check_metadata() const {
  std::vector<Damage> damages;
  const auto check = [&](const std::string& folder, const std::string& array, uint32_t expected) {
    const std::string path = join_path(folder, "zarr.json");
    const Result<std::string> text = files_.read_file(path);
    if (absl::IsNotFound(text.status())) {
      damages.push_back({path, array, "is missing"});
    } else if (!text.ok()) {
      damages.push_back(damage_of(path, array, text.status()));
    } else if (const uint32_t crc = crc32c(std::as_bytes(std::span(*text))); crc != expected) {
      damages.push_back(
          {path, array, absl::StrFormat("has CRC-32C %08x instead of %08x", crc, expected)});
    }
  };
  std::set<std::string> groups;
  for (const ArrayRecord& record : manifest_.arrays) {
    check(array_path(record.spec.name), record.spec.name, record.metadata_crc32c);
    for (const std::string& group : groups_around(record.spec.name)) groups.insert(group);
  }
  const uint32_t group_crc = crc32c(std::as_bytes(std::span(zarr_group_json())));
  check(join_path(folder_, "state"), "", group_crc);
  for (const std::string& group : groups) check(array_path(group), "", group_crc);
  return damages;
}

std::vector<Damage> CheckpointReader::verify(ThreadPool& pool) const {
  std::vector<Damage> damages = check_metadata();
  std::mutex mutex;  // guards damages
  const std::vector<ChunkFile> files = chunk_files(manifest_);
  parallel_for(pool, files.size(), [&](size_t i) {
    const ArrayRecord& record = *files[i].record;
    const std::string path = files[i].path(folder_);
    const Status status =
        verify_chunk_file(files_, path, record.spec, record.stored(files[i].chunk), scratch_);
    if (status.ok()) return;
    const std::lock_guard lock(mutex);
    damages.push_back(damage_of(path, record.spec.name, status));
  });
  return damages;
}

}  // namespace tessera
