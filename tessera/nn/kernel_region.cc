#include "tessera/nn/kernel_region.h"

#include <algorithm>

#include "tessera/ops/elementwise.h"

namespace tessera {
namespace {

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool KernelUse::has(std::string_view name) const { return contains(names, name); }

KernelRegion::KernelRegion(const KernelUse& use) : use_(use) {
  if (!use.mesh) return;
  for (const MeshAxis& axis : use.mesh->axes()) {
    if (axis.size > 1 && !contains(use.manual_axes, axis.name)) axes_.push_back(axis.name);
  }
}

PartitionSpec KernelRegion::spec(const std::vector<std::string>& names, const Dims& dims) const {
  if (axes_.empty()) return {};
  Result<PartitionSpec> spec = use_.rules.resolve(names, *use_.mesh);
  if (!spec.ok()) throw TraceError(annotate(spec.status(), "[kernel_region]"));
  spec->dims.resize(dims.size());
  for (size_t dim = 0; dim < dims.size(); ++dim) {
    int64_t parts = 1;
    std::erase_if(spec->dims[dim], [&](const std::string& axis) {
      if (!contains(axes_, axis)) return true;
      if (dims[dim] % (parts * use_.mesh->axis_size(axis)) != 0) return true;
      parts *= use_.mesh->axis_size(axis);
      return false;
    });
  }
  return std::move(*spec);
}

std::vector<Value> KernelRegion::run(std::vector<PartitionSpec> in, std::vector<PartitionSpec> out,
                                     std::span<const Value> args, const ManualBody& body) const {
  if (axes_.empty()) return body(args);
  return manual_region({.mesh = *use_.mesh,
                        .in = std::move(in),
                        .out = std::move(out),
                        .axes = use_.manual_axes.empty() ? std::vector<std::string>() : axes_},
                       args, body);
}

Value KernelRegion::sum(Value x, const std::vector<std::string>& axes) const {
  if (axes_.empty() || axes.empty()) return x;
  return convert(psum(convert(x, DType::kF32), *use_.mesh, axes), x.dtype());
}

std::string KernelRegion::config(const std::string& more) const {
  return str_cat("{", more, more.empty() ? "" : " ", "threads = ", use_.threads, " : i64}");
}

}  // namespace tessera
