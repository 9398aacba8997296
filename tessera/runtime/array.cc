#include "tessera/runtime/array.h"

#include <map>
#include <mutex>

#include "tessera/runtime/array_internal.h"
#include "tessera/runtime/launch_order.h"

namespace tessera {

struct Array::State {
  const Shape shape;
  const NamedSharding sharding;
  std::vector<Piece> pieces;                 // the list never changes
  const std::shared_ptr<LaunchOrder> order;  // may be null
  mutable std::mutex mutex;
  std::string gone;  // guarded by mutex; what happened to the array, empty while it is there

  State(Shape shape, NamedSharding sharding, std::vector<Piece> pieces,
        std::shared_ptr<LaunchOrder> order)
      : shape(std::move(shape)),
        sharding(std::move(sharding)),
        pieces(std::move(pieces)),
        order(std::move(order)) {}

  // How the computation ended, or why it really failed.
  Status explain(const Status& status) const {
    return status.ok() || order == nullptr ? status : order->explain(status);
  }

  Status alive() const {
    std::lock_guard lock(mutex);
    return alive_locked();
  }
  Status alive_locked() const {
    if (gone.empty()) return absl::OkStatus();
    return failed_precondition("array ", to_string(shape), " ", gone);
  }
  Box box(int64_t position) const { return sharding.shard_box(shape.dims, position); }
};

namespace {

/// A part that is being copied to the host. finish() must be called: the copy writes into it.
struct PartOnItsWay {
  PartOnItsWay(Box box, Shape shape) : box(std::move(box)), value(std::move(shape)) {}

  void start(const pjrt::Buffer& buffer) {
    auto started = buffer.copy_to_host(value.bytes());
    status = started.status();
    if (started.ok()) done = *std::move(started);
  }
  Status finish() {
    status.Update(done.await());
    return status;
  }

  Box box;
  HostArray value;
  Status status;
  pjrt::Event done;
};

std::string devices_text(std::string_view way, const std::string& first, size_t count) {
  return str_cat(way, " ", first, count > 1 ? str_cat(" and ", count - 1, " more") : "");
}

Status check_read(const Shape& shape, const std::map<Box, const pjrt::Buffer*>& parts,
                  const TransferSite& site) {
  if (parts.empty()) return absl::OkStatus();
  int64_t bytes = 0;
  for (const auto& [box, buffer] : parts) bytes += Shape{shape.dtype, box.dims}.host_bytes();
  const auto devices = [&] {
    const auto first = parts.begin()->second->device();
    return devices_text("from", first.ok() ? first->to_string() : "a device", parts.size());
  };
  return check_transfer({TransferDirection::kDeviceToHost, shape, bytes, devices}, site);
}

/// Calls back once all of `count` events did, with the first error among them.
class Countdown {
 public:
  Countdown(size_t count, std::function<void(const Status&)> callback)
      : left_(count), callback_(std::move(callback)) {}

  void arrive(const Status& status) {
    {
      std::lock_guard lock(mutex_);
      first_error_.Update(status);
      if (--left_ > 0) return;
    }
    callback_(first_error_);
  }

 private:
  std::mutex mutex_;
  size_t left_;         // guarded by mutex_
  Status first_error_;  // guarded by mutex_ until left_ is 0
  std::function<void(const Status&)> callback_;
};

}  // namespace

Status check_put(const Shape& shape, const NamedSharding& sharding,
                 const std::vector<Runtime::LocalDevice>& devices, const TransferSite& site) {
  if (devices.empty()) return absl::OkStatus();
  const int64_t bytes =
      sharding.shard_shape(shape).host_bytes() * static_cast<int64_t>(devices.size());
  return check_transfer(
      {TransferDirection::kHostToDevice, shape, bytes,
       [&] { return devices_text("to", devices[0].device.to_string(), devices.size()); }},
      site);
}

Array Array::from_pieces(Shape shape, NamedSharding sharding, std::vector<Piece> pieces,
                         std::shared_ptr<LaunchOrder> order) {
  return Array(std::make_shared<State>(std::move(shape), std::move(sharding), std::move(pieces),
                                       std::move(order)));
}

Result<Array> Array::from_shards(Runtime& runtime, Shape shape, NamedSharding sharding,
                                 const ShardSource& source, TransferSite site) {
  RETURN_IF_ERROR(sharding.check(shape));
  ASSIGN_OR_RETURN(const auto devices, runtime.local_devices(sharding.mesh()));
  RETURN_IF_ERROR(check_put(shape, sharding, devices, site));
  std::map<Box, HostArray> parts;  // replicas share one
  std::vector<Piece> pieces;
  for (const auto& [position, device] : devices) {
    const Box box = sharding.shard_box(shape.dims, position);
    auto part = parts.find(box);
    if (part == parts.end()) {
      ASSIGN_OR_RETURN(HostArray value, source(box));
      const Shape required{shape.dtype, box.dims};
      if (value.shape() != required) {
        return invalid_argument("part ", to_string(box), " of ", to_string(shape), " must be ",
                                to_string(required), ", got ", to_string(value.shape()));
      }
      part = parts.emplace(box, std::move(value)).first;
    }
    ASSIGN_OR_RETURN(pjrt::Buffer buffer, runtime.client().to_device(part->second, device));
    runtime.dispatch()->bytes_to_devices += part->second.shape().host_bytes();
    pieces.push_back({position, std::move(buffer)});
  }
  return from_pieces(std::move(shape), std::move(sharding), std::move(pieces));
}

Result<Array> Array::from_host(Runtime& runtime, const HostArray& value, NamedSharding sharding,
                               const GatherTexts& compare, TransferSite site) {
  if (compare != nullptr) {
    RETURN_IF_ERROR(require_same_value(
        value, str_cat("the value put as ", describe(value.shape(), sharding)), compare));
  }
  if (!sharding.is_fully_replicated()) {
    return from_shards(
        runtime, value.shape(), std::move(sharding),
        [&](const Box& box) { return slice(value, box); }, site);
  }
  ASSIGN_OR_RETURN(const auto devices, runtime.local_devices(sharding.mesh()));
  RETURN_IF_ERROR(check_put(value.shape(), sharding, devices, site));
  std::vector<Piece> pieces;
  for (const auto& [position, device] : devices) {
    ASSIGN_OR_RETURN(pjrt::Buffer buffer, runtime.client().to_device(value, device));
    runtime.dispatch()->bytes_to_devices += value.shape().host_bytes();
    pieces.push_back({position, std::move(buffer)});
  }
  return from_pieces(value.shape(), std::move(sharding), std::move(pieces));
}

const Shape& Array::shape() const { return state_->shape; }
const NamedSharding& Array::sharding() const { return state_->sharding; }
std::span<const Array::Piece> Array::pieces() const { return state_->pieces; }
Status Array::check_alive() const { return state_->alive(); }

Result<HostArray> Array::to_host(TransferSite site) const {
  RETURN_IF_ERROR(state_->alive());
  // One copy of each part is enough. All are started before the first is waited for.
  std::map<Box, const pjrt::Buffer*> unique;
  for (const Piece& piece : state_->pieces) {
    unique.emplace(state_->box(piece.position), &piece.buffer);
  }
  RETURN_IF_ERROR(check_read(shape(), unique, site));
  std::vector<PartOnItsWay> parts;
  int64_t elements = 0;
  for (const auto& [box, buffer] : unique) {
    PartOnItsWay& part = parts.emplace_back(box, Shape{shape().dtype, box.dims});
    elements += part.value.shape().elements();
    part.start(*buffer);
  }
  Status status;
  for (PartOnItsWay& part : parts) status.Update(part.finish());
  RETURN_IF_ERROR(state_->explain(status));
  if (elements != shape().elements()) {
    return failed_precondition(
        "array ", describe(shape(), sharding()), " has parts on devices of other processes",
        parts.empty() ? " and none here" : "",
        "; call gather_to_host() in all processes, or read what is here: addressable_shards()");
  }
  if (parts.size() == 1) return std::move(parts[0].value);
  HostArray whole(shape());
  for (const PartOnItsWay& part : parts) paste(part.value, part.box, whole);
  return whole;
}

Status Array::await() const {
  RETURN_IF_ERROR(state_->alive());
  Status status;
  for (const Piece& piece : state_->pieces) {
    ASSIGN_OR_RETURN(const pjrt::Event ready, piece.buffer.ready());
    status.Update(ready.await());
  }
  return state_->explain(status);
}

Status Array::on_ready(std::function<void(const Status&)> callback) const {
  RETURN_IF_ERROR(state_->alive());
  std::vector<pjrt::Event> events;
  for (const Piece& piece : state_->pieces) {
    ASSIGN_OR_RETURN(pjrt::Event ready, piece.buffer.ready());
    events.push_back(std::move(ready));
  }
  if (events.empty()) callback(absl::OkStatus());
  // Without asking others, for which a thread of the plugin has no time.
  const auto call = [order = state_->order, callback = std::move(callback)](const Status& status) {
    const Status reason = status.ok() || order == nullptr ? absl::OkStatus() : order->failure();
    callback(reason.ok() ? status : reason);
  };
  const auto countdown = std::make_shared<Countdown>(events.size(), call);
  for (const pjrt::Event& event : events) {
    const Status asked =
        event.on_ready([countdown](const Status& status) { countdown->arrive(status); });
    if (!asked.ok()) countdown->arrive(asked);
  }
  return absl::OkStatus();
}

Result<std::vector<Array::Shard>> Array::addressable_shards() const {
  RETURN_IF_ERROR(state_->alive());
  std::vector<Shard> shards;
  for (const Piece& piece : state_->pieces) {
    shards.push_back({piece.position, state_->box(piece.position),
                      sharding().replica_id(piece.position), &piece.buffer});
  }
  return shards;
}

Status Array::claim(std::string consumer) {
  std::lock_guard lock(state_->mutex);
  RETURN_IF_ERROR(state_->alive_locked());
  state_->gone = str_cat("was donated as ", consumer,
                         " and is gone; use what that call returned, or do not donate it");
  return absl::OkStatus();
}

void Array::unclaim() {
  std::lock_guard lock(state_->mutex);
  state_->gone.clear();
}

void Array::remove() {
  {
    std::lock_guard lock(state_->mutex);
    if (!state_->gone.empty()) return;
    state_->gone = "was removed";
  }
  // Whoever waits for a buffer still gets it; nobody can ask for it anew.
  for (Piece& piece : state_->pieces) piece.buffer.remove().IgnoreError();
}

std::string describe(const Shape& shape, const NamedSharding& sharding) {
  return str_cat(to_string(shape), " sharded ", to_string(sharding.spec(), shape.rank()));
}

}  // namespace tessera
