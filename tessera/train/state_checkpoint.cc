#include "tessera/train/state_checkpoint.h"

#include <set>

#include "tessera/base/log.h"

namespace tessera {
namespace {

// The dims of a chunk are at least 1, also of an empty shard.
Dims chunk_dims(const NamedSharding& sharding, const Shape& shape) {
  Dims dims = sharding.shard_dims(shape.dims);
  for (int64_t& dim : dims) dim = std::max<int64_t>(dim, 1);
  return dims;
}

Status copy_array(const std::string& path, const Array& array, SaveRequest& request) {
  request.arrays.push_back(
      make_array_spec(path, array.shape(), chunk_dims(array.sharding(), array.shape())));
  ASSIGN_OR_RETURN(const std::vector<Array::Shard> shards, array.addressable_shards());
  std::set<Box> seen;
  for (const Array::Shard& shard : shards) {
    if (shard.replica_id != 0 || !seen.insert(shard.box).second) continue;
    ASSIGN_OR_RETURN(HostArray host, shard.buffer->to_host());
    auto owner = std::make_shared<const HostArray>(std::move(host));
    request.shards.push_back({path, shard.box, owner->bytes(), owner});
  }
  return absl::OkStatus();
}

Status check_matches(const CheckpointReader& reader, const ArgumentSpec& spec) {
  ASSIGN_OR_RETURN(const ArrayRecord* record, reader.array_info(spec.path));
  if (record->spec.shape == spec.shape) return absl::OkStatus();
  return failed_precondition(
      "checkpoint ", reader.folder(), " holds ", spec.path, " as ", to_string(record->spec.shape),
      " but the model needs ", to_string(spec.shape),
      ": train with the config that it was saved with, or into another output_directory");
}

std::string_view branch_of(std::string_view path) { return path.substr(0, path.find('.')); }

// What the checkpoint has beside `specs` in the same branches would be dropped without a word.
Status check_complete(const CheckpointReader& reader, std::span<const ArgumentSpec> specs) {
  std::set<std::string_view> wanted, branches;
  for (const ArgumentSpec& spec : specs) {
    wanted.insert(spec.path);
    branches.insert(branch_of(spec.path));
  }
  for (const ArrayRecord& array : reader.manifest().arrays) {
    const std::string& path = array.spec.name;
    if (wanted.contains(path) || !branches.contains(branch_of(path))) continue;
    return failed_precondition(
        "checkpoint ", reader.folder(), " holds ", path, ", which the model has no place for",
        ": train with the config that it was saved with, or into another output_directory");
  }
  return absl::OkStatus();
}

}  // namespace

Result<SaveRequest> copy_to_host(int64_t step, const Tree<Array>& state) {
  SaveRequest request;
  request.step = step;
  for (const auto& [path, array] : state)
    RETURN_IF_ERROR(annotate(copy_array(path, array, request), path));
  return request;
}

void log_skipped(const LatestCheckpoint& latest) {
  for (const SkippedCheckpoint& skipped : latest.skipped)
    log_warning("skipped ", skipped.folder, ": ", skipped.reason);
}

Result<Tree<Array>> restore(Runtime& runtime, const CheckpointReader& reader,
                            std::span<const ArgumentSpec> specs, const Layout& layout) {
  Tree<Array> state;
  RETURN_IF_ERROR(check_complete(reader, specs));
  for (const ArgumentSpec& spec : specs) {
    RETURN_IF_ERROR(check_matches(reader, spec));
    ASSIGN_OR_RETURN(const ProgramValue value, lay_out(spec, layout));
    const Array::ShardSource source = [&](const Box& box) -> Result<HostArray> {
      HostArray part(Shape{spec.shape.dtype, box.dims});
      RETURN_IF_ERROR(reader.read_region(spec.path, box, part.bytes()));
      return part;
    };
    ASSIGN_OR_RETURN(Array array, Array::from_shards(runtime, spec.shape, value.sharding, source));
    RETURN_IF_ERROR(state.add(spec.path, std::move(array)));
  }
  return state;
}

}  // namespace tessera
