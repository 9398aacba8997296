#include "tessera/train/state_checkpoint.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <set>

#include "tessera/base/log.h"
#include "tessera/base/streaming_copy.h"
#include "tessera/base/thread.h"
#include "tessera/runtime/array_fill.h"
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

/// Copies to the host that are under way or to be made. wait() must be called, also after an error.
class HostCopies {
 public:
  /// `to` is as large as the buffer is on the host.
  Status add(const pjrt::Buffer& buffer, std::span<std::byte> to) {
    if (const auto memory = buffer.host_memory(); memory.ok()) {
      for (size_t begin = 0; begin < to.size(); begin += kPartBytes) {
        const size_t bytes = std::min(kPartBytes, to.size() - begin);
        parts_.push_back({memory->subspan(begin, bytes), to.data() + begin});
      }
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(pjrt::Event copy, buffer.copy_to_host(to));
    events_.push_back(std::move(copy));
    return absl::OkStatus();
  }

  Status wait() {
    copy_parts();
    Status status;
    for (const pjrt::Event& event : events_) status.Update(event.await());
    return status;
  }

 private:
  static constexpr size_t kPartBytes = 1 << 20;
  // What a core copies in less time than it takes to start a thread and wait for it.
  static constexpr size_t kPartsWithoutThreads = 2;

  struct Part {
    std::span<const std::byte> from;
    std::byte* to;
  };

  // From memory to memory, with all cores: training waits for it.
  void copy_parts() const {
    if (parts_.size() <= kPartsWithoutThreads) {
      for (const auto& [from, to] : parts_) streaming_copy(from, to);
      return;
    }
    const size_t cores = std::max(1U, std::thread::hardware_concurrency());
    ThreadPool pool("copy", std::min(cores, parts_.size()), 256);
    parallel_for(pool, parts_.size(),
                 [&](size_t i) { streaming_copy(parts_[i].from, parts_[i].to); });
  }

  std::vector<Part> parts_;
  std::vector<pjrt::Event> events_;
};

Status start_copies(const std::string& path, const Array& array, const SaveShares& shares,
                    StagingPool& pool, SaveRequest& request, HostCopies& copies) {
  ASSIGN_OR_RETURN(const std::vector<Array::Shard> shards, shards_to_save(path, array, shares));
  RETURN_IF_ERROR(ask_guard(array.shape(), shards));
  for (const Array::Shard& shard : shards) {
    const size_t bytes =
        static_cast<size_t>(Shape{array.shape().dtype, shard.box.dims}.host_bytes());
    const std::shared_ptr<std::byte[]> block = pool.take(bytes);
    RETURN_IF_ERROR(copies.add(*shard.buffer, {block.get(), bytes}));
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

/// Arrays on their way from a checkpoint onto the devices: one's chunks are read while those of the
/// one before are, and who reads its last chunk makes it whole.
class Restoring {
 public:
  Restoring(Runtime& runtime, const CheckpointReader& reader, const Layout& layout,
            const RestoreOptions& options)
      : runtime_(runtime), reader_(reader), layout_(layout), options_(options) {}

  /// Returns when the array's reads are under way, or something failed.
  Status start(const ArgumentSpec& spec) {
    ASSIGN_OR_RETURN(ProgramValue value, lay_out(spec, layout_));
    RETURN_IF_ERROR(wait_for_room(value.sharding.shard_shape(spec.shape).host_bytes() *
                                  value.sharding.mesh().size()));
    ASSIGN_OR_RETURN(ArrayFill fill, ArrayFill::start(runtime_, spec.shape, value.sharding));
    std::vector<RegionRead> regions;
    for (const ArrayFill::Part& part : fill.parts())
      regions.push_back({spec.path, part.box, part.bytes});
    ASSIGN_OR_RETURN(const auto reads, reader_.plan(regions));
    const int64_t staging_bytes = fill.staging_bytes();
    Item& item = items_.emplace_back(spec.path, std::move(fill), reads.size());
    if (reads.empty()) return item.finish();
    {
      const std::lock_guard lock(mutex_);
      staging_bytes_ += staging_bytes;
    }
    for (const CheckpointReader::ChunkRead& read : reads)
      pool_.submit([this, &item, read, staging_bytes] { run(item, read, staging_bytes); });
    return absl::OkStatus();
  }

  Result<Tree<Array>> finish() {
    pool_.wait();
    RETURN_IF_ERROR(status());
    Tree<Array> state;
    for (Item& item : items_) RETURN_IF_ERROR(state.add(item.path, std::move(item.array)));
    return state;
  }

 private:
  // More than cores: they wait for the disk, too.
  static constexpr size_t kReaders = 8;

  struct Item {
    Item(std::string path, ArrayFill fill, size_t reads)
        : path(std::move(path)), fill(std::move(fill)), reads_left(reads) {}
    Status finish() {
      ASSIGN_OR_RETURN(array, fill->finish());
      fill.reset();
      return absl::OkStatus();
    }

    const std::string path;
    std::optional<ArrayFill> fill;
    std::atomic<size_t> reads_left;
    Array array;
  };

  void run(Item& item, const CheckpointReader::ChunkRead& read, int64_t staging_bytes) {
    if (status().ok()) record(reader_.read(read));
    if (--item.reads_left > 0) return;
    if (status().ok()) record(annotate(item.finish(), item.path));
    item.fill.reset();
    const std::lock_guard lock(mutex_);
    staging_bytes_ -= staging_bytes;
    changed_.notify_all();
  }

  void record(const Status& status) {
    if (status.ok()) return;
    const std::lock_guard lock(mutex_);
    status_.Update(status);
    changed_.notify_all();
  }

  Status wait_for_room(int64_t bytes) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
      return !status_.ok() || staging_bytes_ == 0 ||
             staging_bytes_ + bytes <= options_.staging_bytes;
    });
    return status_;
  }
  Status status() {
    const std::lock_guard lock(mutex_);
    return status_;
  }

  Runtime& runtime_;
  const CheckpointReader& reader_;
  const Layout& layout_;
  const RestoreOptions options_;
  std::deque<Item> items_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Status status_;                             // guarded by mutex_: the first error
  int64_t staging_bytes_ = 0;                 // guarded by mutex_: of the arrays under way
  ThreadPool pool_{"restore", kReaders, 64};  // last: its threads use the others
};

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
  HostCopies copies;
  Status status;
  for (const auto& [path, array] : state) {
    if (!status.ok()) break;
    ArraySpec spec = make_array_spec(
        path, array.shape(), chunk_dims(array.sharding(), array.shape()), options.chunk_bytes);
    spec.zstd_level = options.zstd_level;
    request.arrays.push_back(std::move(spec));
    status = annotate(start_copies(path, array, shares, pool, request, copies), path);
  }
  status.Update(copies.wait());
  RETURN_IF_ERROR(status);
  return request;
}

Result<Tree<Array>> restore(Runtime& runtime, const CheckpointReader& reader,
                            std::span<const ArgumentSpec> specs, const Layout& layout,
                            const RestoreOptions& options) {
  RETURN_IF_ERROR(check_complete(reader, specs));
  for (const ArgumentSpec& spec : specs) RETURN_IF_ERROR(check_matches(reader, spec));
  Restoring restoring(runtime, reader, layout, options);
  Status status;
  for (const ArgumentSpec& spec : specs) {
    status = restoring.start(spec);
    if (!status.ok()) break;
  }
  Result<Tree<Array>> state = restoring.finish();
  RETURN_IF_ERROR(status);
  return state;
}

void log_skipped(const LatestCheckpoint& latest) {
  for (const SkippedCheckpoint& skipped : latest.skipped)
    log_warning("skipped ", skipped.folder, ": ", skipped.reason);
}

}  // namespace tessera
