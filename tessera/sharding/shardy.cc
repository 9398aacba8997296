#include "tessera/sharding/shardy.h"

namespace tessera {

std::vector<MeshAxis> named_axes(const Mesh& mesh) {
  std::vector<MeshAxis> axes;
  for (const MeshAxis& axis : mesh.axes()) {
    if (axis.size > 1) axes.push_back(axis);
  }
  return axes.empty() ? std::vector<MeshAxis>(mesh.axes().begin(), mesh.axes().end()) : axes;
}

std::string shardy_mesh(const Mesh& mesh) {
  std::string axes;
  for (const MeshAxis& axis : named_axes(mesh)) {
    str_append(&axes, axes.empty() ? "" : ", ", "\"", axis.name, "\"=", axis.size);
  }
  return str_cat("sdy.mesh @mesh = <[", axes, "]>");
}

std::string shardy_sharding(const PartitionSpec& spec, int rank) {
  std::string dims;
  for (int dim = 0; dim < rank; ++dim) {
    std::string axes;
    if (static_cast<size_t>(dim) < spec.dims.size()) {
      for (const std::string& axis : spec.dims[dim]) {
        str_append(&axes, axes.empty() ? "" : ", ", "\"", axis, "\"");
      }
    }
    str_append(&dims, dim > 0 ? ", " : "", "{", axes, "}");
  }
  return str_cat("#sdy.sharding<@mesh, [", dims, "]>");
}

}  // namespace tessera
