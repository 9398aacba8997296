#include "tessera/ops/sharding_ops.h"

#include <algorithm>
#include <set>

#include "tessera/ops/registry.h"
#include "tessera/ops/sharding_internal.h"

namespace tessera {
namespace {

// ---- constrain

std::vector<Shape> infer_constrain(const InferContext& context) {
  const auto& attrs = context.attr<ConstrainAttrs>();
  const size_t rank = context.operands[0].rank();
  const size_t named = attrs.logical_names.size();
  if (named > 0 ? named != rank : attrs.spec.dims.size() > rank) {
    fail("names ", std::max(named, attrs.spec.dims.size()), " dimensions of a value that has ",
         rank);
  }
  return {context.operands[0]};
}

void constrain_vjp(Vjp& v) {
  v.set_grad(0, apply(kConstrain, {v.cotangent()}, v.attr<ConstrainAttrs>()));
}

// ---- collectives

std::vector<Shape> infer_same(const InferContext& context) {
  context.attr<CollectiveAttrs>().group_size();  // throws when an axis is unknown
  return {context.operands[0]};
}

void check_dim(const Shape& shape, int dim) {
  if (dim < 0 || dim >= shape.rank())
    fail("dimension ", dim, " does not exist in ", to_string(shape));
}

Shape divided(const Shape& shape, int dim, int64_t parts) {
  check_dim(shape, dim);
  if (shape.dims[dim] % parts != 0) {
    fail("dimension ", dim, " of ", to_string(shape), " does not divide among ", parts, " devices");
  }
  Shape result = shape;
  result.dims[dim] /= parts;
  return result;
}

Shape multiplied(const Shape& shape, int dim, int64_t parts) {
  check_dim(shape, dim);
  Shape result = shape;
  result.dims[dim] *= parts;
  return result;
}

std::vector<Shape> infer_all_gather(const InferContext& context) {
  const auto& attrs = context.attr<CollectiveAttrs>();
  return {multiplied(context.operands[0], attrs.dim, attrs.group_size())};
}

std::vector<Shape> infer_psum_scatter(const InferContext& context) {
  const auto& attrs = context.attr<CollectiveAttrs>();
  return {divided(context.operands[0], attrs.dim, attrs.group_size())};
}

std::vector<Shape> infer_all_to_all(const InferContext& context) {
  const auto& attrs = context.attr<CollectiveAttrs>();
  return {multiplied(divided(context.operands[0], attrs.dim, attrs.group_size()), attrs.concat_dim,
                     attrs.group_size())};
}

std::vector<Shape> infer_ppermute(const InferContext& context) {
  const auto& attrs = context.attr<CollectiveAttrs>();
  const int64_t size = attrs.group_size();
  std::set<int64_t> sources, targets;
  for (auto [source, target] : attrs.pairs) {
    if (source < 0 || source >= size || target < 0 || target >= size) {
      fail("pair (", source, ", ", target, ") is outside the ", size, " devices of the axis");
    }
    if (!sources.insert(source).second) fail("device ", source, " sends twice");
    if (!targets.insert(target).second) fail("device ", target, " receives twice");
  }
  return {context.operands[0]};
}

std::vector<Shape> infer_axis_index(const InferContext& context) {
  context.attr<CollectiveAttrs>().group_size();
  return {Shape{DType::kS32, {}}};
}

// The transpose of a collective: the other op of the pair, with the same attributes.
template <const OpDef& transpose>
void transposed_vjp(Vjp& v) {
  v.set_grad(0, apply(transpose, {v.cotangent()}, v.attr<CollectiveAttrs>()));
}

void all_to_all_vjp(Vjp& v) {
  CollectiveAttrs attrs = v.attr<CollectiveAttrs>();
  std::swap(attrs.dim, attrs.concat_dim);
  v.set_grad(0, apply(kAllToAll, {v.cotangent()}, attrs));
}

void ppermute_vjp(Vjp& v) {
  CollectiveAttrs attrs = v.attr<CollectiveAttrs>();
  for (auto& [source, target] : attrs.pairs) std::swap(source, target);
  v.set_grad(0, apply(kPpermute, {v.cotangent()}, attrs));
}

}  // namespace

const OpDef kConstrain = {.name = "constrain", .infer = infer_constrain, .vjp = constrain_vjp};
const OpDef kPsum = {.name = "psum", .infer = infer_same, .vjp = transposed_vjp<kPsum>};
const OpDef kPmax = {
    .name = "pmax", .infer = infer_same, .no_gradient = "a maximum over devices has none here"};
const OpDef kPmin = {
    .name = "pmin", .infer = infer_same, .no_gradient = "a minimum over devices has none here"};
const OpDef kAllGather = {
    .name = "all_gather", .infer = infer_all_gather, .vjp = transposed_vjp<kPsumScatter>};
const OpDef kPsumScatter = {
    .name = "psum_scatter", .infer = infer_psum_scatter, .vjp = transposed_vjp<kAllGather>};
const OpDef kAllToAll = {.name = "all_to_all", .infer = infer_all_to_all, .vjp = all_to_all_vjp};
const OpDef kPpermute = {.name = "ppermute", .infer = infer_ppermute, .vjp = ppermute_vjp};
const OpDef kAxisIndex = {.name = "axis_index",
                          .infer = infer_axis_index,
                          .no_gradient = "it is an integer",
                          .zero_gradient = true};

int64_t checked_axis_size(const Mesh& mesh, const std::string& name) {
  if (!mesh.find_axis(name)) fail("the mesh has no axis '", name, "'; it has ", axis_names(mesh));
  return mesh.axis_size(name);
}

int64_t devices_along(const Mesh& mesh, std::span<const std::string> axes) {
  int64_t devices = 1;
  for (const std::string& axis : axes) devices *= checked_axis_size(mesh, axis);
  return devices;
}

int64_t CollectiveAttrs::group_size() const { return devices_along(mesh, axes); }

std::vector<std::vector<int64_t>> CollectiveAttrs::groups() const {
  // Strides of a row-major mesh, the axes of the group last: positions that differ only along them
  // form a group.
  using SizeAndStride = std::pair<int64_t, int64_t>;
  std::vector<SizeAndStride> inside, outside;
  const std::span<const MeshAxis> all_axes = mesh.axes();
  std::vector<int64_t> strides(all_axes.size());
  int64_t stride = 1;
  for (size_t i = all_axes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= all_axes[i].size;
  }
  for (const std::string& name : axes) {
    const size_t i = *mesh.find_axis(name);
    inside.push_back({all_axes[i].size, strides[i]});
  }
  for (size_t i = 0; i < all_axes.size(); ++i) {
    const bool in_group = std::find(axes.begin(), axes.end(), all_axes[i].name) != axes.end();
    if (!in_group) outside.push_back({all_axes[i].size, strides[i]});
  }
  const auto positions = [](std::span<const SizeAndStride> dims) {
    std::vector<int64_t> all = {0};
    for (auto [size, step] : dims) {
      std::vector<int64_t> next;
      for (int64_t base : all) {
        for (int64_t i = 0; i < size; ++i) next.push_back(base + i * step);
      }
      all = std::move(next);
    }
    return all;
  };
  std::vector<std::vector<int64_t>> groups;
  for (int64_t base : positions(outside)) {
    std::vector<int64_t> group = positions(inside);
    for (int64_t& position : group) position += base;
    groups.push_back(std::move(group));
  }
  return groups;
}

Value constrain(Value x, std::vector<std::string> logical_names) {
  return apply(kConstrain, {x}, ConstrainAttrs{.logical_names = std::move(logical_names)});
}

Value constrain_axes(Value x, PartitionSpec spec) {
  return apply(kConstrain, {x}, ConstrainAttrs{.logical_names = {}, .spec = std::move(spec)});
}

Value psum(Value x, const Mesh& mesh, std::vector<std::string> axes) {
  return apply(kPsum, {x}, CollectiveAttrs{.mesh = mesh, .axes = std::move(axes)});
}
Value pmax(Value x, const Mesh& mesh, std::vector<std::string> axes) {
  return apply(kPmax, {x}, CollectiveAttrs{.mesh = mesh, .axes = std::move(axes)});
}
Value pmin(Value x, const Mesh& mesh, std::vector<std::string> axes) {
  return apply(kPmin, {x}, CollectiveAttrs{.mesh = mesh, .axes = std::move(axes)});
}
Value all_gather(Value x, const Mesh& mesh, const std::string& axis, int dim) {
  return apply(kAllGather, {x}, CollectiveAttrs{.mesh = mesh, .axes = {axis}, .dim = dim});
}
Value psum_scatter(Value x, const Mesh& mesh, const std::string& axis, int dim) {
  return apply(kPsumScatter, {x}, CollectiveAttrs{.mesh = mesh, .axes = {axis}, .dim = dim});
}
Value all_to_all(Value x, const Mesh& mesh, const std::string& axis, int split_dim,
                 int concat_dim) {
  return apply(
      kAllToAll, {x},
      CollectiveAttrs{.mesh = mesh, .axes = {axis}, .dim = split_dim, .concat_dim = concat_dim});
}
Value ppermute(Value x, const Mesh& mesh, const std::string& axis,
               const std::vector<std::pair<int64_t, int64_t>>& pairs) {
  return apply(kPpermute, {x}, CollectiveAttrs{.mesh = mesh, .axes = {axis}, .pairs = pairs});
}
Value axis_index(Value like, const Mesh& mesh, const std::string& axis) {
  return apply(kAxisIndex, {like}, CollectiveAttrs{.mesh = mesh, .axes = {axis}});
}

std::span<const OpDef* const> sharding_ops() {
  static constexpr const OpDef* kOps[] = {&kConstrain, &kManualRegion, &kPsum,        &kPmax,
                                          &kPmin,      &kAllGather,    &kPsumScatter, &kAllToAll,
                                          &kPpermute,  &kAxisIndex};
  return kOps;
}

}  // namespace tessera
