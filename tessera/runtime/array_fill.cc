#include "tessera/runtime/array_fill.h"

#include <algorithm>
#include <set>

#include "tessera/base/large_pages.h"
#include "tessera/runtime/array_internal.h"

namespace tessera {
Result<ArrayFill> ArrayFill::start(Runtime& runtime, Shape shape, NamedSharding sharding,
                                   TransferSite site) {
  RETURN_IF_ERROR(sharding.check(shape));
  ArrayFill fill(std::move(shape), std::move(sharding));
  fill.runtime_ = &runtime;
  ASSIGN_OR_RETURN(fill.devices_, runtime.local_devices(fill.sharding_.mesh()));
  RETURN_IF_ERROR(check_put(fill.shape_, fill.sharding_, fill.devices_, site));
  const Status status = fill.make_parts(runtime);
  if (absl::IsUnimplemented(status)) {
    fill.stage_parts();
  } else {
    RETURN_IF_ERROR(status);
  }
  return fill;
}

Status ArrayFill::make_parts(const Runtime& runtime) {
  const Shape part = sharding_.shard_shape(shape_);
  for (const auto& [position, device] : devices_) {
    ASSIGN_OR_RETURN(pjrt::Buffer buffer, runtime.client().uninitialized(part, device));
    ASSIGN_OR_RETURN(const std::span<std::byte> memory, buffer.host_memory());
    prefer_large_pages(memory);
    parts_.push_back({sharding_.shard_box(shape_.dims, position), memory});
    pieces_.push_back({position, std::move(buffer)});
  }
  return absl::OkStatus();
}

void ArrayFill::stage_parts() {
  pieces_.clear();
  parts_.clear();
  std::set<Box> boxes;  // replicas share one
  for (const auto& [position, device] : devices_)
    boxes.insert(sharding_.shard_box(shape_.dims, position));
  for (const Box& box : boxes) staged_.emplace_back(Shape{shape_.dtype, box.dims});
  size_t next = 0;
  for (const Box& box : boxes) parts_.push_back({box, staged_[next++].bytes()});
}

int64_t ArrayFill::staging_bytes() const {
  int64_t bytes = 0;
  for (const HostArray& part : staged_) bytes += std::ssize(part.bytes());
  return bytes;
}

Result<Array> ArrayFill::finish() {
  if (staged_.empty()) {
    for (const Part& part : parts_)
      runtime_->dispatch()->bytes_to_devices += std::ssize(part.bytes);
    return Array::from_pieces(std::move(shape_), std::move(sharding_), std::move(pieces_));
  }
  const TransferUnderWay asked_before;
  return Array::from_shards(*runtime_, shape_, sharding_, [&](const Box& box) -> Result<HostArray> {
    const auto part = std::find_if(parts_.begin(), parts_.end(),
                                   [&](const Part& part) { return part.box == box; });
    return std::move(staged_[static_cast<size_t>(part - parts_.begin())]);
  });
}

}  // namespace tessera
