#include "tessera/train/state_checkpoint.h"

#include <algorithm>
#include <set>

#include "tessera/base/log.h"
#include "tessera/base/thread.h"
#include "tessera/ckpt/grid.h"
#include "tessera/runtime/transfer_guard.h"

namespace tessera {
namespace {

// The dims of a chunk are at least 1, also of an empty shard.
Dims chunk_dims(const NamedSharding& sharding, const Shape& shape) {
  Dims dims = sharding.shard_dims(shape.dims);
  for (int64_t& dim : dims) dim = std::max<int64_t>(dim, 1);
  return dims;
}

// The parts of an array that this process saves.
Result<std::vector<Array::Shard>> shards_to_save(const std::string& path, const Array& array,
                                                 const SaveShares& shares) {
  ASSIGN_OR_RETURN(std::vector<Array::Shard> shards, array.addressable_shards());
  const std::span<const int64_t> devices = array.sharding().mesh().device_ids();
  std::erase_if(shards, [&](const Array::Shard& shard) {
    return shares.device_of(path, shard.box) != devices[static_cast<size_t>(shard.position)];
  });
  return shards;
}

Status ask_guard(const Shape& shape, const std::vector<Array::Shard>& shards) {
  if (shards.empty()) return absl::OkStatus();
  int64_t bytes = 0;
  for (const Array::Shard& shard : shards) bytes += Shape{shape.dtype, shard.box.dims}.host_bytes();
  return check_transfer(
      {TransferDirection::kDeviceToHost, shape, bytes,
       [&] {
         const auto first = shards[0].buffer->device();
         return str_cat("from ", first.ok() ? first->to_string() : "a device",
                        shards.size() > 1 ? str_cat(" and ", shards.size() - 1, " more") : "");
       }},
      TransferSite());
}

/// Starts to copy an array; `copies` are to be waited for, also after an error.
Status start_copies(const std::string& path, const Array& array, const SaveShares& shares,
                    StagingPool& pool, SaveRequest& request, std::vector<pjrt::Event>& copies) {
  ASSIGN_OR_RETURN(const std::vector<Array::Shard> shards, shards_to_save(path, array, shares));
  RETURN_IF_ERROR(ask_guard(array.shape(), shards));
  for (const Array::Shard& shard : shards) {
    const size_t bytes =
        static_cast<size_t>(Shape{array.shape().dtype, shard.box.dims}.host_bytes());
    const std::shared_ptr<std::byte[]> block = pool.take(bytes);
    ASSIGN_OR_RETURN(pjrt::Event copy, shard.buffer->copy_to_host({block.get(), bytes}));
    copies.push_back(std::move(copy));
    request.shards.push_back(
        {path, shard.box, {block.get(), bytes}, std::shared_ptr<const void>(block, block.get())});
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

/// How an array comes onto the devices: the parts that this process needs, within one region that
/// is read whole where they fill it, else each for itself.
struct Restored {
  const ArgumentSpec* spec;
  NamedSharding sharding;
  std::vector<std::pair<Box, HostArray>> parts;

  int64_t bytes() const {
    int64_t bytes = 0;
    for (const auto& [box, part] : parts) bytes += box.elements();
    return bytes * dtype_host_bytes(spec->shape.dtype);
  }
};

Box bounds_of(const std::set<Box>& boxes) {
  Box bounds = *boxes.begin();
  for (const Box& box : boxes) {
    for (size_t i = 0; i < box.dims.size(); ++i) {
      const int64_t end = std::max(bounds.start[i] + bounds.dims[i], box.start[i] + box.dims[i]);
      bounds.start[i] = std::min(bounds.start[i], box.start[i]);
      bounds.dims[i] = end - bounds.start[i];
    }
  }
  return bounds;
}

Result<Restored> plan(const Runtime& runtime, const ArgumentSpec& spec, const Layout& layout) {
  ASSIGN_OR_RETURN(ProgramValue value, lay_out(spec, layout));
  Restored restored{&spec, std::move(value.sharding), {}};
  const Mesh& mesh = restored.sharding.mesh();
  std::set<Box> boxes;
  for (int64_t position = 0; position < mesh.size(); ++position) {
    ASSIGN_OR_RETURN(const pjrt::Device device,
                     runtime.client().device(static_cast<int>(mesh.device_ids()[position])));
    if (!device.is_addressable()) continue;
    boxes.insert(restored.sharding.shard_box(spec.shape.dims, position));
  }
  if (boxes.empty()) return restored;
  int64_t elements = 0;
  for (const Box& box : boxes) elements += box.elements();
  // One region: chunks that several devices have a part of are read once.
  const Box bounds = bounds_of(boxes);
  if (bounds.elements() == elements) boxes = {bounds};
  for (const Box& box : boxes) restored.parts.emplace_back(box, HostArray());
  return restored;
}

Result<Array> to_devices(Runtime& runtime, Restored& restored) {
  const auto source = [&](const Box& box) -> Result<HostArray> {
    for (auto& [region, part] : restored.parts) {
      if (box == region) return std::move(part);  // asked for once: replicas share it
      if (intersect(box, region) == box || box.elements() == 0)
        return slice(part, relative_to(box, region.start));
    }
    return internal_error("no part of ", restored.spec->path, " holds ", to_string(box));
  };
  return Array::from_shards(runtime, restored.spec->shape, restored.sharding, source);
}

// About as much as is read at once: enough for the threads, and little beside a state.
constexpr int64_t kBatchBytes = 256 << 20;
// More than cores: they wait for the disk, too.
constexpr size_t kReaders = 8;

}  // namespace

Status wait_until_ready(const Tree<Array>& state) {
  for (const auto& [path, array] : state) {
    ASSIGN_OR_RETURN(const std::vector<Array::Shard> shards, array.addressable_shards());
    for (const Array::Shard& shard : shards) {
      ASSIGN_OR_RETURN(const pjrt::Event ready, shard.buffer->ready());
      RETURN_IF_ERROR(annotate(ready.await(), path));
    }
  }
  return absl::OkStatus();
}

Result<SaveRequest> copy_to_host(int64_t step, const Tree<Array>& state, const SaveShares& shares,
                                 StagingPool& pool, CopyOptions options) {
  SaveRequest request;
  request.step = step;
  std::vector<pjrt::Event> copies;
  Status status;
  for (const auto& [path, array] : state) {
    if (!status.ok()) break;
    ArraySpec spec = make_array_spec(
        path, array.shape(), chunk_dims(array.sharding(), array.shape()), options.chunk_bytes);
    spec.zstd_level = options.zstd_level;
    request.arrays.push_back(std::move(spec));
    status = annotate(start_copies(path, array, shares, pool, request, copies), path);
  }
  for (const pjrt::Event& copy : copies) status.Update(copy.await());
  RETURN_IF_ERROR(status);
  return request;
}

Result<Tree<Array>> restore(Runtime& runtime, const CheckpointReader& reader,
                            std::span<const ArgumentSpec> specs, const Layout& layout) {
  Tree<Array> state;
  RETURN_IF_ERROR(check_complete(reader, specs));
  for (const ArgumentSpec& spec : specs) RETURN_IF_ERROR(check_matches(reader, spec));
  ThreadPool pool("restore", kReaders, 64);
  for (size_t next = 0; next < specs.size();) {
    std::vector<Restored> batch;
    int64_t bytes = 0;
    while (next < specs.size() && bytes < kBatchBytes) {
      ASSIGN_OR_RETURN(Restored planned, plan(runtime, specs[next], layout));
      bytes += planned.bytes();
      batch.push_back(std::move(planned));
      ++next;
    }
    std::vector<RegionRead> reads;
    for (Restored& restored : batch) {
      for (auto& [box, part] : restored.parts) {
        part = HostArray(Shape{restored.spec->shape.dtype, box.dims});
        reads.push_back({restored.spec->path, box, part.bytes()});
      }
    }
    RETURN_IF_ERROR(reader.read_regions(reads, pool));
    for (Restored& restored : batch) {
      ASSIGN_OR_RETURN(Array array, to_devices(runtime, restored));
      RETURN_IF_ERROR(state.add(restored.spec->path, std::move(array)));
    }
  }
  return state;
}

void log_skipped(const LatestCheckpoint& latest) {
  for (const SkippedCheckpoint& skipped : latest.skipped)
    log_warning("skipped ", skipped.folder, ": ", skipped.reason);
}

}  // namespace tessera
