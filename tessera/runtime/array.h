#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/status.h"
#include "tessera/ir/host_array.h"
#include "tessera/pjrt/buffer.h"
#include "tessera/runtime/agreement.h"
#include "tessera/runtime/runtime.h"
#include "tessera/runtime/transfer_guard.h"
#include "tessera/sharding/named_sharding.h"

namespace tessera {

/// A tensor on the devices of a mesh, perhaps still being computed. A program sees the whole of it;
/// this process holds the shards of its own devices, which may be none. Copies are handles to the
/// same tensor. Once it is given away to a call (donated), every handle says so when touched. Safe
/// to use from several threads. What moves data is subject to transfer_guard.h.
class Array {
 public:
  /// No array: only assigning, destroying and defined() are allowed.
  Array() = default;

  /// Copies `value` to the devices of the mesh; each gets only its own part. `value` may be changed
  /// when the call returns. With `compare`, the processes that take part in it first make sure that
  /// all hold the same value: see require_same_value(). Else nothing checks that.
  static Result<Array> from_host(Runtime& runtime, const HostArray& value, NamedSharding sharding,
                                 const GatherTexts& compare = nullptr, TransferSite site = {});
  /// Asks `source` for each part that devices of this process hold, once a part: the data of a
  /// checkpoint, or of a batch. Parts must have the dtype of `shape` and the sizes asked for.
  using ShardSource = std::function<Result<HostArray>(const Box& box)>;
  static Result<Array> from_shards(Runtime& runtime, Shape shape, NamedSharding sharding,
                                   const ShardSource& source, TransferSite site = {});
  /// From the data that this process has: whole in a dimension, or just the parts that its devices
  /// hold, as fit_process_local() says. `global_dims` may be left out where they follow from the
  /// layout. Whether replicas on other processes hold the same is not checked.
  static Result<Array> from_process_local(Runtime& runtime, NamedSharding sharding,
                                          const HostArray& local,
                                          const std::optional<Dims>& global_dims = {},
                                          TransferSite site = {});
  /// From parts that lie on the devices of this process already, one each, in any order. Errors
  /// name what is wrong: their number, a device that is there twice, is missing or has no place in
  /// the mesh, a shape or dtype other than the layout's. Values are not looked at.
  static Result<Array> from_buffers(Runtime& runtime, Shape shape, NamedSharding sharding,
                                    std::vector<pjrt::Buffer> buffers);
  /// One part on one device.
  struct Piece {
    int64_t position;  ///< of the device in the mesh
    pjrt::Buffer buffer;
  };
  /// From buffers that hold the parts already; one for each device of this process in the mesh, by
  /// ascending position.
  /// `order`: what may know why its computation failed.
  static Array from_pieces(Shape shape, NamedSharding sharding, std::vector<Piece> pieces,
                           std::shared_ptr<LaunchOrder> order = nullptr);
  /// All of them, by ascending position, even of an array that is gone: for the functions of this
  /// layer.
  std::span<const Piece> pieces() const;

  bool defined() const { return state_ != nullptr; }
  const Shape& shape() const;
  const NamedSharding& sharding() const;

  /// The whole tensor, once it is there. An error for a donated array, a failed computation, or
  /// parts that this process does not hold: gather_to_host() (process_arrays.h) brings them.
  Result<HostArray> to_host(TransferSite site = {}) const;
  /// Waits for all parts of this process; returns how their computation ended.
  Status await() const;
  /// Calls `callback` once, when all parts of this process are there, with how their computation
  /// ended. See pjrt::Event::on_ready.
  Status on_ready(std::function<void(const Status&)> callback) const;

  struct Shard {
    int64_t position;            ///< of the device in the mesh
    Box box;                     ///< which part of the whole it is
    int64_t replica_id;          ///< 0: the first device that holds this part
    const pjrt::Buffer* buffer;  ///< valid as long as a handle to the array exists
  };
  /// The parts that this process holds, by ascending position. An error for a donated array.
  Result<std::vector<Shard>> addressable_shards() const;

  /// OK, or what happened to the array: "array f32[8,4] was donated as argument 'state.w' to call 3
  /// of 'train_step' ...".
  Status check_alive() const;
  /// Marks the array as given away to `consumer` ("argument 'state.w' to call 3 of 'train_step'");
  /// an error when it is gone already.
  Status claim(std::string consumer);
  /// Takes the mark away again, when the call that claimed the array did not happen after all.
  void unclaim();
  /// Frees the memory; the array counts as gone. Nothing happens to one that is gone already.
  void remove();

  /// Whether both are handles to the same tensor.
  bool same_as(const Array& other) const { return state_ == other.state_; }

 private:
  struct State;
  explicit Array(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

/// "f32[4,8] sharded [fsdp,_]".
std::string describe(const Shape& shape, const NamedSharding& sharding);

/// The same values, bit by bit, laid out by `sharding`, over any devices of any processes: the same
/// handle when it is laid out so already, else by a compiled program over all devices that hold the
/// values before or after, whose bytes go from device to device. Returns at once; the result
/// carries the error if what computes the values fails. Every process with one of these devices
/// must call, in the same order as all its programs; in others nothing happens, and an array
/// without parts is returned. Errors come before anything has started, and are the same everywhere:
/// a layout that does not fit the shape, devices of different kinds.
Result<Array> device_put(Runtime& runtime, const Array& array, const NamedSharding& sharding,
                         TransferSite site = {});

}  // namespace tessera
