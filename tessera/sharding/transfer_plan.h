#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tessera/sharding/named_sharding.h"

/// How a tensor goes from some devices to others, whatever the two layouts: who sends which part to
/// whom, and what can go at the same time.
namespace tessera {

/// What a device holds of a tensor, or shall hold.
struct Holding {
  int64_t device_id = 0;
  Box box;
};
/// One for each device of the sharding's mesh, by position.
std::vector<Holding> holdings(const NamedSharding& sharding, const Dims& dims);

/// A part that goes from one device to another, or to another place on the same one. Devices are
/// places in TransferPlan::device_ids.
struct TransferPiece {
  int64_t source = 0, destination = 0;
  Dims source_start;       ///< in what the source holds
  Dims destination_start;  ///< in what the destination shall hold
  bool operator==(const TransferPiece&) const = default;
};

/// Pieces that go at once: all of the same dimensions, and each device sends at most one of them
/// and gets at most one.
struct TransferRound {
  enum class Kind {
    kWithin,  ///< source and destination of each piece are the same device
    kFirst,   ///< from what devices hold at the beginning to other devices
    kRelayed  ///< from what a device has got in earlier rounds to others of its process
  };
  Kind kind = Kind::kWithin;
  Dims dims;
  std::vector<TransferPiece> pieces;
};

struct TransferPlan {
  /// All devices that hold the tensor before or after, ascending.
  std::vector<int64_t> device_ids;
  std::vector<int64_t> process_of;  ///< of each
  std::vector<TransferRound> rounds;

  /// What each device sends to other devices, by place.
  std::vector<int64_t> elements_sent() const;
  /// What devices of `process` send to those of other processes.
  int64_t elements_to_other_processes(int64_t process) const;
};

/// A plan by which each device of `to` gets its box from those of `from`. Boxes of one list are all
/// of one size, and two of them are equal or have nothing in common. `process_of` tells a device's
/// process by its id.
///
/// A device takes what it has itself, then what others of its process have; what comes from other
/// processes comes once a process, and is passed on inside it. Among several that could send, the
/// one that has the least to send does. Pieces of one size take as few rounds as the busiest device
/// has pieces to send or to get. The same input gives the same plan everywhere.
///
/// Errors: a list that is empty, that has a device twice or boxes of several sizes; an element of
/// `to` that no device of `from` has.
Result<TransferPlan> plan_transfer(std::span<const Holding> from, std::span<const Holding> to,
                                   const std::function<int64_t(int64_t device_id)>& process_of);

/// Gives each edge (source, destination) of a bipartite graph a number from 0 so that edges with
/// the same number share no source and no destination. The numbers are as many as the most edges
/// at one vertex, which is the fewest possible (König's theorem).
std::vector<int64_t> color_edges(std::span<const std::pair<int64_t, int64_t>> edges);

}  // namespace tessera
