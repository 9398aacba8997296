#include "tessera/ckpt/writer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "tessera/base/crc32c.h"
#include "tessera/base/json.h"
#include "tessera/ckpt/chunk_file.h"
#include "tessera/ckpt/parallel.h"

namespace tessera {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

/// What one file takes on disk beyond its bytes, roughly: a block.
constexpr int64_t kFileOverheadBytes = 4096;

int64_t needed_bytes(const ArraySpec& spec) {
  return spec.file_bytes() + (spec.chunk_count() + 1) * kFileOverheadBytes;
}

}  // namespace

std::string checkpoint_folder(std::string_view directory, int64_t step) {
  return join_path(directory, std::to_string(step));
}

CheckpointWriter::CheckpointWriter(FileSystem& files, std::string directory, int64_t step,
                                   Options options)
    : files_(files),
      directory_(std::move(directory)),
      step_(step),
      options_(options),
      temporary_(checkpoint_folder(directory_, step) +
                 (files.renames_folders(directory_) ? ".tmp" : "")) {}

CheckpointWriter::~CheckpointWriter() { (void)abort(); }

Result<std::unique_ptr<CheckpointWriter>> CheckpointWriter::begin(FileSystem& files,
                                                                  std::string directory,
                                                                  int64_t step,
                                                                  std::vector<ArraySpec> arrays,
                                                                  Options options) {
  if (step < 0) return invalid_argument("checkpoint: step ", step, " is negative");
  std::unique_ptr<CheckpointWriter> writer(
      new CheckpointWriter(files, std::move(directory), step, options));
  RETURN_IF_ERROR(writer->add_arrays(std::move(arrays)));
  if (!options.leads) return writer;
  Status status = writer->make_folder();
  if (status.ok()) status = writer->write_metadata();
  if (!status.ok()) return writer->explain(status);
  return writer;
}

Status CheckpointWriter::add_arrays(std::vector<ArraySpec> arrays) {
  std::set<std::string> folders;
  for (ArraySpec& spec : arrays) {
    RETURN_IF_ERROR(spec.validate());
    for (std::string& group : groups_around(spec.name)) folders.insert(std::move(group));
    bytes_ += spec.file_bytes();
    const size_t chunks = static_cast<size_t>(spec.chunk_count());
    const std::string name = spec.name;
    ArrayRecord record{std::move(spec), 0, std::vector<uint32_t>(chunks), {}};
    if (record.spec.zstd_level > 0) record.chunk_file_bytes.resize(chunks);
    const bool is_new =
        arrays_.emplace(name, Array{std::move(record), std::vector<bool>(chunks)}).second;
    if (!is_new) return invalid_argument("checkpoint: two arrays are named ", name);
  }
  for (const std::string& folder : folders) {
    if (!arrays_.contains(folder)) continue;
    return invalid_argument("checkpoint: ", folder, " is an array and the start of another's name");
  }
  folders_ = {temporary_, join_path(temporary_, "state")};
  for (const std::string& folder : folders) {
    folders_.push_back(join_path(temporary_, array_folder(folder)));
  }
  return absl::OkStatus();
}

Status CheckpointWriter::make_folder() {
  RETURN_IF_ERROR(files_.create_dirs(directory_));
  const std::string folder = checkpoint_folder(directory_, step_);
  if (files_.exists(temporary_ == folder ? join_path(folder, kCheckpointManifestFile) : folder)) {
    return absl::AlreadyExistsError(str_cat(folder, ": this step is saved already"));
  }
  RETURN_IF_ERROR(files_.remove_tree(temporary_));  // of a run that died
  double all = 0;
  for (const auto& [name, array] : arrays_)
    all += static_cast<double>(needed_bytes(array.record.spec));
  const auto needed = static_cast<int64_t>(all * std::min(options_.share, 1.0));
  ASSIGN_OR_RETURN(const int64_t free, files_.free_bytes(directory_));
  if (free < needed) {
    return absl::ResourceExhaustedError(str_cat(directory_, ": a checkpoint needs ", needed,
                                                " bytes there, and ", free, " are free"));
  }
  open_ = true;
  return files_.create_dir(temporary_);
}

Status CheckpointWriter::write_metadata() {
  std::vector<std::string> texts(folders_.size(), std::string(zarr_group_json()));
  for (auto& [name, array] : arrays_) {
    folders_.push_back(join_path(temporary_, array_folder(name)));
    texts.push_back(zarr_array_json(array.record.spec));
    array.record.metadata_crc32c = crc32c(bytes_of(texts.back()));
  }
  for (size_t i = 1; i < folders_.size(); ++i) RETURN_IF_ERROR(files_.create_dir(folders_[i]));
  // Syncs of many files at once take a disk hardly longer than that of one.
  return try_parallel_for(options_.pool, folders_.size() - 1, [&](size_t i) {
    return files_.write_file(join_path(folders_[i + 1], "zarr.json"), {bytes_of(texts[i + 1])});
  });
}

Result<int64_t> CheckpointWriter::chunk_of(const Array& array, const Box& box) const {
  const ArraySpec& spec = array.record.spec;
  Dims index(box.start.size());
  bool fits = box.start.size() == spec.chunk_shape.size();
  for (size_t i = 0; fits && i < index.size(); ++i) {
    index[i] = box.start[i] / spec.chunk_shape[i];
    fits = box.start[i] >= 0 && box.start[i] < spec.shape.dims[i];
  }
  if (fits && spec.chunk_box(index) == box) return linear_index(index, spec.grid());
  return invalid_argument("checkpoint: ", to_string(box), " of ", spec.name, " ",
                          to_string(spec.shape), " is not one of its chunks of ",
                          dims_to_string(spec.chunk_shape));
}

Status CheckpointWriter::write_shard(std::string_view name, const Box& box,
                                     std::span<const std::byte> bytes) {
  const auto found = arrays_.find(name);
  if (found == arrays_.end()) return not_found("checkpoint: no array is named ", name);
  Array& array = found->second;
  const ArraySpec& spec = array.record.spec;
  ASSIGN_OR_RETURN(const int64_t chunk, chunk_of(array, box));
  const int64_t expected = box.elements() * dtype_host_bytes(spec.shape.dtype);
  if (static_cast<int64_t>(bytes.size()) != expected) {
    return invalid_argument("checkpoint: ", name, " ", to_string(box), " has ", bytes.size(),
                            " bytes instead of ", expected);
  }
  const std::string path = join_path(join_path(temporary_, array_folder(name)),
                                     chunk_file_name(grid_index(chunk, spec.grid())));
  const Result<StoredChunk> stored = write_chunk_file(files_, path, spec, box, bytes);
  if (!stored.ok()) return explain(stored.status());
  const std::lock_guard lock(mutex_);
  written_.push_back({std::string(name), chunk, *stored});
  return note(array, chunk, *stored);
}

Status CheckpointWriter::note(Array& array, int64_t chunk, const StoredChunk& stored) {
  const size_t at = static_cast<size_t>(chunk);
  if (array.written[at]) {
    return failed_precondition("checkpoint: chunk ", chunk, " of ", array.record.spec.name,
                               " was written twice");
  }
  array.written[at] = true;
  array.record.chunk_checksums[at] = stored.checksum;
  if (!array.record.chunk_file_bytes.empty()) array.record.chunk_file_bytes[at] = stored.file_bytes;
  return absl::OkStatus();
}

int64_t CheckpointWriter::bytes() const {
  const std::lock_guard lock(mutex_);
  int64_t bytes = 0;
  for (const auto& [name, array] : arrays_) {
    const bool is_whole =
        std::find(array.written.begin(), array.written.end(), false) == array.written.end();
    bytes += is_whole ? array.record.file_bytes() : array.record.spec.file_bytes();
  }
  return bytes;
}

std::vector<WrittenChunk> CheckpointWriter::written() const {
  const std::lock_guard lock(mutex_);
  return written_;
}

Status CheckpointWriter::adopt(std::span<const WrittenChunk> chunks) {
  const std::lock_guard lock(mutex_);
  for (const WrittenChunk& chunk : chunks) {
    const auto array = arrays_.find(chunk.array);
    if (array == arrays_.end() || chunk.chunk < 0 ||
        chunk.chunk >= static_cast<int64_t>(array->second.written.size())) {
      return invalid_argument("checkpoint: another process wrote chunk ", chunk.chunk, " of ",
                              chunk.array, ", which is not in the state");
    }
    RETURN_IF_ERROR(note(array->second, chunk.chunk, chunk.stored));
  }
  return absl::OkStatus();
}

Status CheckpointWriter::check_complete() const {
  for (const auto& [name, array] : arrays_) {
    for (size_t i = 0; i < array.written.size(); ++i) {
      if (array.written[i]) continue;
      return failed_precondition(
          "checkpoint step ", step_, ": chunk ",
          chunk_file_name(grid_index(static_cast<int64_t>(i), array.record.spec.grid())), " of ",
          name, " was not written");
    }
  }
  return absl::OkStatus();
}

Status CheckpointWriter::commit(Manifest manifest) {
  const std::lock_guard lock(mutex_);
  if (!options_.leads || !open_) {
    return failed_precondition("checkpoint step ", step_, ": nothing to commit here");
  }
  RETURN_IF_ERROR(check_complete());
  manifest.step = step_;
  manifest.arrays.clear();
  for (const auto& [name, array] : arrays_) manifest.arrays.push_back(array.record);
  ASSIGN_OR_RETURN(const std::string text, manifest_to_text(manifest));
  return explain(files_.renames_folders(directory_) ? rename_into_place(text)
                                                    : create_manifest(text));
}

Status CheckpointWriter::rename_into_place(const std::string& manifest) {
  // The manifest comes last: then a folder with one is whole, wherever it was copied to.
  RETURN_IF_ERROR(try_parallel_for(options_.pool, folders_.size() - 1,
                                   [&](size_t i) { return files_.sync_dir(folders_[i + 1]); }));
  RETURN_IF_ERROR(
      files_.write_file(join_path(temporary_, kCheckpointManifestFile), {bytes_of(manifest)}));
  RETURN_IF_ERROR(files_.sync_dir(temporary_));
  RETURN_IF_ERROR(files_.rename(temporary_, checkpoint_folder(directory_, step_)));
  open_ = false;
  return files_.sync_dir(directory_);
}

Status CheckpointWriter::create_manifest(const std::string& manifest) {
  const std::string path = join_path(temporary_, kCheckpointManifestFile);
  commit_tried_ = true;
  const Status status = files_.create_once(path, manifest);
  // Whoever committed owns the folder from then on.
  if (status.ok() || absl::IsAlreadyExists(status)) open_ = false;
  if (!absl::IsAlreadyExists(status)) return status;
  return absl::AlreadyExistsError(
      str_cat(path,
              ": another run saved this step here: give each run a checkpoint.directory of its "
              "own"));
}

Status CheckpointWriter::abort() {
  if (!std::exchange(open_, false)) return absl::OkStatus();
  if (!files_.renames_folders(directory_)) {
    const std::string manifest = join_path(temporary_, kCheckpointManifestFile);
    // Not ours when no commit was tried: another run saved this step meanwhile.
    if (!commit_tried_ && files_.exists(manifest)) return absl::OkStatus();
    // One that failed may have left it nevertheless, and it goes before the rest.
    const Status status = files_.remove(manifest);
    if (!absl::IsNotFound(status)) RETURN_IF_ERROR(status);
  }
  return files_.remove_tree(temporary_);
}

Status CheckpointWriter::explain(const Status& status) const {
  if (!absl::IsResourceExhausted(status)) {
    return annotate(status, str_cat("checkpoint step ", step_));
  }
  return absl::ResourceExhaustedError(
      str_cat("checkpoint step ", step_, ", ", bytes_, " bytes: ", status.message(),
              ". Free space there, or keep fewer checkpoints. Checkpoints saved before are "
              "untouched"));
}

std::string to_text(std::span<const WrittenChunk> chunks) {
  Json list = Json::array();
  for (const WrittenChunk& chunk : chunks)
    list.push_back({chunk.array, chunk.chunk, chunk.stored.checksum, chunk.stored.file_bytes});
  return list.dump();
}

Result<std::vector<WrittenChunk>> written_from_text(const std::string& text) {
  const Json list = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  std::vector<WrittenChunk> chunks;
  bool good = list.is_array();
  for (size_t i = 0; good && i < list.size(); ++i) {
    const Json& chunk = list[i];
    good = chunk.is_array() && chunk.size() == 4 && chunk[0].is_string() &&
           chunk[1].is_number_integer() && chunk[2].is_number_unsigned() &&
           chunk[3].is_number_integer();
    if (good) chunks.push_back({chunk[0], chunk[1], {chunk[2], chunk[3]}});
  }
  if (good) return chunks;
  return data_loss("checkpoint: another process sent what is no list of written chunks");
}

}  // namespace tessera
