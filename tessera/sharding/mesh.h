#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/status.h"

namespace tessera {

/// One direction of a mesh.
struct MeshAxis {
  std::string name;
  int64_t size = 1;
  bool operator==(const MeshAxis&) const = default;
};

/// Devices laid out as a grid with named axes, the last axis varying fastest. A device's *position*
/// is its row-major place in the grid; its *id* is the platform's. An immutable value, cheap to
/// copy; safe to use from several threads.
class Mesh {
 public:
  /// One axis may have size -1: it becomes what the number of devices leaves. Errors, which name
  /// the axes, the product and the number of devices: an empty or repeated name, a size below 1,
  /// two -1, a product that is not the number of devices.
  static Result<Mesh> create(std::vector<MeshAxis> axes, std::vector<int64_t> device_ids);
  /// The same over devices 0 ... num_devices - 1.
  template <std::integral Count>  // so that {7} is the one device 7, not seven devices
  static Result<Mesh> create(std::vector<MeshAxis> axes, Count num_devices) {
    std::vector<int64_t> ids(std::max<int64_t>(num_devices, 0));
    std::iota(ids.begin(), ids.end(), 0);
    return create(std::move(axes), std::move(ids));
  }
  /// One device and no axes.
  static Mesh single(int64_t device_id);

  std::span<const MeshAxis> axes() const { return data_->axes; }
  /// Ids by position.
  std::span<const int64_t> device_ids() const { return data_->device_ids; }
  int64_t size() const { return static_cast<int64_t>(data_->device_ids.size()); }
  /// Place of an axis in axes(); nullopt when there is none of that name.
  std::optional<size_t> find_axis(std::string_view name) const;
  /// Size of an axis that exists; CHECKs.
  int64_t axis_size(std::string_view name) const;
  /// Coordinates of the device at `position`, one an axis.
  std::vector<int64_t> coordinates(int64_t position) const;

  bool operator==(const Mesh& other) const;

 private:
  struct Data {
    std::vector<MeshAxis> axes;
    std::vector<int64_t> device_ids;
    bool operator==(const Data&) const = default;
  };
  explicit Mesh(Data data) : data_(std::make_shared<const Data>(std::move(data))) {}

  std::shared_ptr<const Data> data_;
};

/// "data=2, fsdp=2": axes larger than one, or "1 device".
std::string to_string(const Mesh& mesh);
/// "data, fsdp, tensor": for messages.
std::string axis_names(const Mesh& mesh);

}  // namespace tessera
