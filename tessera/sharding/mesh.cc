#include "tessera/sharding/mesh.h"

#include <algorithm>

#include "absl/strings/str_join.h"

namespace tessera {
namespace {

std::string join(std::span<const MeshAxis> axes, std::string_view between, bool with_sizes) {
  std::string text;
  for (const MeshAxis& axis : axes) {
    str_append(&text, text.empty() ? "" : between, axis.name);
    if (with_sizes) str_append(&text, "=", axis.size);
  }
  return text;
}

std::string sizes(std::span<const MeshAxis> axes) { return join(axes, ", ", true); }

Status check_names(std::span<const MeshAxis> axes) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].name.empty()) return invalid_argument("mesh: axis ", i, " has no name");
    for (size_t j = 0; j < i; ++j) {
      if (axes[j].name == axes[i].name) {
        return invalid_argument("mesh: two axes are named '", axes[i].name, "'");
      }
    }
  }
  return absl::OkStatus();
}

/// Replaces the one -1.
Status fill(std::vector<MeshAxis>& axes, int64_t num_devices) {
  MeshAxis* open = nullptr;
  int64_t product = 1;
  for (MeshAxis& axis : axes) {
    if (axis.size == -1) {
      if (open != nullptr) {
        return invalid_argument("mesh: axes ", open->name, " and ", axis.name,
                                " are both -1; only one can be filled in");
      }
      open = &axis;
    } else if (axis.size < 1) {
      return invalid_argument("mesh: axis ", axis.name, " has size ", axis.size,
                              "; required is at least 1, or -1 to fill it in");
    } else {
      product *= axis.size;
    }
  }
  if (open != nullptr) {
    if (num_devices % product != 0 || num_devices < product) {
      return invalid_argument("mesh: axis ", open->name, " cannot be filled in: ", num_devices,
                              " devices are not divisible by ", product,
                              ", the product of the others (", sizes(axes), ")");
    }
    open->size = num_devices / product;
    product = num_devices;
  }
  if (product != num_devices) {
    return invalid_argument("mesh: the product of ", axes.empty() ? "no axes" : sizes(axes), " is ",
                            product, ", but there are ", num_devices,
                            " devices; set one axis to -1 to fill it in");
  }
  return absl::OkStatus();
}

}  // namespace

Result<Mesh> Mesh::create(std::vector<MeshAxis> axes, std::vector<int64_t> device_ids) {
  RETURN_IF_ERROR(check_names(axes));
  if (device_ids.empty()) return invalid_argument("mesh: no devices");
  RETURN_IF_ERROR(fill(axes, static_cast<int64_t>(device_ids.size())));
  std::vector<int64_t> sorted = device_ids;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) return invalid_argument("mesh: device ", *twice, " occurs twice");
  return Mesh(Data{std::move(axes), std::move(device_ids)});
}

Mesh Mesh::single(int64_t device_id) { return Mesh(Data{{}, {device_id}}); }

std::optional<size_t> Mesh::find_axis(std::string_view name) const {
  for (size_t i = 0; i < data_->axes.size(); ++i) {
    if (data_->axes[i].name == name) return i;
  }
  return std::nullopt;
}

int64_t Mesh::axis_size(std::string_view name) const {
  const auto index = find_axis(name);
  CHECK_MSG(index.has_value(), str_cat("no mesh axis ", name));
  return data_->axes[*index].size;
}

std::vector<int64_t> Mesh::coordinates(int64_t position) const {
  std::vector<int64_t> result(data_->axes.size());
  for (size_t i = result.size(); i-- > 0;) {
    result[i] = position % data_->axes[i].size;
    position /= data_->axes[i].size;
  }
  return result;
}

bool Mesh::operator==(const Mesh& other) const {
  return data_ == other.data_ || *data_ == *other.data_;
}

std::string to_string(const Mesh& mesh) {
  std::vector<MeshAxis> large;
  for (const MeshAxis& axis : mesh.axes()) {
    if (axis.size > 1) large.push_back(axis);
  }
  return large.empty() ? "1 device" : sizes(large);
}

std::string axis_names(const Mesh& mesh) { return join(mesh.axes(), ", ", false); }

}  // namespace tessera
