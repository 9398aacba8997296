#include "tessera/stablehlo/placements.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_join.h"
#include "tessera/ops/control.h"
#include "tessera/ops/indexing.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/shape.h"
#include "tessera/sharding/shardy.h"
#include "tessera/stablehlo/module.h"

namespace tessera::stablehlo {
namespace {

bool contains(std::span<const std::string> names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The mesh as the partitioner sees it in a manual region: along a manual axis each device has its
// own part already, so what the rules say of that axis has happened.
Mesh automatic_part(const Mesh& mesh, std::span<const std::string> manual) {
  if (manual.empty()) return mesh;
  std::vector<MeshAxis> axes(mesh.axes().begin(), mesh.axes().end());
  int64_t devices = 1;
  for (MeshAxis& axis : axes) {
    if (contains(manual, axis.name)) axis.size = 1;
    devices *= axis.size;
  }
  return *Mesh::create(std::move(axes), devices);
}

// Of as many dims as the value has, without axes of size one and those that are manual.
Axes to_axes(const PartitionSpec& spec, int rank, const Mesh& mesh,
             std::span<const std::string> manual) {
  Axes axes = spec.dims;
  axes.resize(rank);
  for (auto& dim : axes) {
    std::erase_if(dim, [&](const std::string& axis) {
      return mesh.axis_size(axis) == 1 || contains(manual, axis);
    });
  }
  return axes;
}

bool is_whole(const Axes& axes) {
  return std::all_of(axes.begin(), axes.end(), [](const auto& dim) { return dim.empty(); });
}

int64_t parts_of(const std::vector<std::string>& axes, const Mesh& mesh) {
  int64_t parts = 1;
  for (const std::string& axis : axes) parts *= mesh.axis_size(axis);
  return parts;
}

// For each dim what one of them has, where its axes are still free.
Placement joined(const std::vector<const Axes*>& all) {
  if (all.empty()) return std::nullopt;
  Axes result(all[0]->size());
  std::set<std::string> used;
  for (const Axes* axes : all) {
    for (size_t dim = 0; dim < result.size(); ++dim) {
      if (!result[dim].empty()) continue;
      for (const std::string& axis : (*axes)[dim]) {
        if (used.insert(axis).second) result[dim].push_back(axis);
      }
    }
  }
  return result;
}

Placement through_reshape(const Axes& axes, const Shape& from, const Shape& to, const Mesh& mesh) {
  Axes result(to.dims.size());
  size_t i = 0, j = 0;
  while (i < from.dims.size() || j < to.dims.size()) {
    const size_t first_in = i, first_out = j;
    int64_t in = 1, out = 1;
    // A group of dims of one side that holds as many elements as one of the other.
    if (i < from.dims.size()) in *= from.dims[i++];
    if (j < to.dims.size()) out *= to.dims[j++];
    while (in != out) {
      if (in < out) {
        if (i == from.dims.size()) return std::nullopt;
        in *= from.dims[i++];
      } else {
        if (j == to.dims.size()) return std::nullopt;
        out *= to.dims[j++];
      }
    }
    const auto not_one = [](const Dims& dims, size_t begin, size_t end) {
      while (begin < end && dims[begin] == 1) ++begin;
      return begin;
    };
    const size_t outer_in = not_one(from.dims, first_in, i);
    const size_t outer_out = not_one(to.dims, first_out, j);
    for (size_t dim = first_in; dim < i; ++dim) {
      if (axes[dim].empty()) continue;
      // Only what splits the outermost dim of a group stays in one piece.
      if (dim != outer_in || outer_out == j || to.dims[outer_out] % parts_of(axes[dim], mesh) != 0)
        return std::nullopt;
      result[outer_out] = axes[dim];
    }
  }
  return result;
}

Placement through_broadcast(const Axes& axes, const Shape& from, const BroadcastAttrs& attrs) {
  // What is alike on all devices says nothing of where what it meets lies.
  if (is_whole(axes)) return std::nullopt;
  Axes result(attrs.dims.size());
  for (size_t dim = 0; dim < axes.size(); ++dim) {
    if (from.dims[dim] == attrs.dims[attrs.mapping[dim]]) result[attrs.mapping[dim]] = axes[dim];
  }
  return result;
}

Placement without(const Axes& axes, const Dims& dims) {
  Axes result;
  for (size_t dim = 0; dim < axes.size(); ++dim) {
    if (std::find(dims.begin(), dims.end(), static_cast<int64_t>(dim)) == dims.end())
      result.push_back(axes[dim]);
  }
  return result;
}

// Of ops that change the size of some dims: those lie whole then.
Placement of_equal_dims(const Axes& axes, const Shape& from, const Shape& to) {
  Axes result = axes;
  for (size_t dim = 0; dim < axes.size(); ++dim) {
    if (from.dims[dim] != to.dims[dim]) result[dim].clear();
  }
  return result;
}

bool is_reduction(const OpDef* op) {
  return op == &kReduceSum || op == &kReduceMax || op == &kReduceMin || op == &kReduceProd;
}

bool cuts_dims(const OpDef* op) {
  return op == &kSlice || op == &kPad || op == &kConcatenate || op == &kReverse ||
         op == &kDynamicSlice;
}

Placement drop_leading(const Placement& placement) {
  if (!placement || placement->empty()) return std::nullopt;
  return Axes(placement->begin() + 1, placement->end());
}

Placement add_leading(const Placement& placement) {
  if (!placement) return std::nullopt;
  Axes axes = *placement;
  axes.insert(axes.begin(), std::vector<std::string>());
  return axes;
}

}  // namespace

PartitionSpec constraint_spec(const ConstrainAttrs& attrs, const Shape& shape,
                              const ModuleOptions& options, std::span<const std::string> manual) {
  if (!attrs.logical_names.empty()) {
    if (options.rules == nullptr)
      fail("[constrain] a program with logical names needs axis rules to be printed for a mesh");
    Result<ResolvedSpec> resolved = options.rules->resolve(attrs.logical_names, shape.dims,
                                                           automatic_part(*options.mesh, manual));
    if (!resolved.ok()) throw TraceError(annotate(resolved.status(), "[constrain]"));
    return std::move(resolved->spec);
  }
  for (const auto& dim : attrs.spec.dims) {
    for (const std::string& axis : dim) {
      if (!contains(manual, axis)) continue;
      fail("[constrain] to ", to_string(attrs.spec), " inside a manual region over ",
           absl::StrJoin(manual, ", "),
           ", where each device has its own part already: constrain before or after the region");
    }
  }
  return attrs.spec;
}

Placements::Placements(const Graph& graph, const ModuleOptions& options) : options_(options) {
  std::vector<Placement> parameters(graph.parameters().size());
  for (size_t i = 0; i < options.argument_specs.size(); ++i) {
    const int rank = graph.shape(graph.parameters()[i]).rank();
    parameters[i] = to_axes(options.argument_specs[i], rank, *options.mesh, {});
  }
  place_body(graph, parameters, {});
}

const Placement& Placements::of(const Graph& graph, ValueId id) const {
  static const Placement kUnknown;
  const auto found = placements_.find(&graph);
  if (found == placements_.end()) return kUnknown;
  return found->second[id.node][id.output];
}

std::vector<Placement> Placements::outputs_of(const Graph& graph) const {
  std::vector<Placement> result;
  for (ValueId id : graph.outputs()) result.push_back(of(graph, id));
  return result;
}

std::vector<Placement> Placements::operands_of(const Graph& graph, const Node& node) const {
  std::vector<Placement> result;
  for (ValueId id : node.operands) result.push_back(of(graph, id));
  return result;
}

void Placements::place_body(const Graph& graph, const std::vector<Placement>& parameters,
                            const std::vector<std::string>& manual) {
  auto& nodes = placements_[&graph];
  nodes.assign(graph.size(), {});
  for (size_t i = 0; i < graph.parameters().size(); ++i)
    nodes[graph.parameters()[i].node] = {i < parameters.size() ? parameters[i] : Placement()};
  for (int32_t index = 0; index < graph.size(); ++index) {
    const Node& node = graph.node(index);
    if (node.op == &kParameter) continue;
    std::vector<Placement> results = place_node(graph, node, manual);
    results.resize(node.shapes.size());
    placements_[&graph][index] = std::move(results);  // bodies may have moved the table
  }
}

std::vector<Placement> Placements::place_node(const Graph& graph, const Node& node,
                                              const std::vector<std::string>& manual) {
  const Mesh& mesh = *options_.mesh;
  const std::vector<Placement> operands = operands_of(graph, node);
  const auto operand_shape = [&](size_t i) -> const Shape& {
    return graph.shape(node.operands[i]);
  };
  if (node.op == &kConstrain) {
    const Shape& shape = node.shapes[0];
    return {to_axes(constraint_spec(node.attr<ConstrainAttrs>(), shape, options_, manual),
                    shape.rank(), mesh, manual)};
  }
  if (const OpKernel* kernel = options_.kernels.find(node.op)) {
    std::vector<Shape> shapes;
    for (size_t i = 0; i < operands.size(); ++i) shapes.push_back(operand_shape(i));
    const auto cut = choose_cut(kernel->labels(node, shapes), shapes, operands, mesh);
    return {cut ? Placement(cut->result) : std::nullopt};
  }
  if (node.op == &kCheckpoint || node.op == &kCustomGradient) {
    place_body(*node.regions[0], operands, manual);
    return outputs_of(*node.regions[0]);
  }
  if (node.op == &kScan) {
    const auto& attrs = node.attr<ScanAttrs>();
    std::vector<Placement> inside = operands;
    for (int x = attrs.carries; x < attrs.carries + attrs.xs; ++x)
      inside[x] = drop_leading(operands[x]);
    place_body(*node.regions[0], inside, manual);
    std::vector<Placement> results = outputs_of(*node.regions[0]);
    for (size_t i = attrs.carries; i < results.size(); ++i) results[i] = add_leading(results[i]);
    return results;
  }
  if (node.op == &kCond) {
    const std::vector<Placement> inside(operands.begin() + 1, operands.end());
    for (const auto& region : node.regions) place_body(*region, inside, manual);
    return outputs_of(*node.regions[0]);
  }
  if (node.op == &kWhile) {
    for (const auto& region : node.regions) place_body(*region, operands, manual);
    return outputs_of(*node.regions[1]);
  }
  if (node.op == &kManualRegion) {
    const ManualOptions& region = node.attr<ManualAttrs>().options;
    std::vector<std::string> all = manual;
    const std::vector<std::string> own = region.manual_axes();
    all.insert(all.end(), own.begin(), own.end());
    std::vector<Placement> inside = operands;
    for (Placement& placement : inside) {
      if (placement)
        placement = to_axes({*placement}, static_cast<int>(placement->size()), mesh, all);
    }
    place_body(*node.regions[0], inside, all);
    std::vector<Placement> results = outputs_of(*node.regions[0]);
    for (size_t i = 0; i < results.size(); ++i) {
      const Axes outer = to_axes(region.out[i], node.shapes[i].rank(), mesh, manual);
      const bool everything = all.size() == named_axes(mesh).size();
      if (everything) {
        results[i] = outer;
      } else if (results[i]) {
        for (size_t dim = 0; dim < outer.size(); ++dim)
          (*results[i])[dim].insert((*results[i])[dim].begin(), outer[dim].begin(),
                                    outer[dim].end());
      }
    }
    return results;
  }
  if (node.op == &kOptimizationBarrier) return operands;
  if (node.op == &kBroadcastInDim) {
    if (!operands[0]) return {};
    return {through_broadcast(*operands[0], operand_shape(0), node.attr<BroadcastAttrs>())};
  }
  if (node.op == &kReshape) {
    if (!operands[0]) return {};
    return {through_reshape(*operands[0], operand_shape(0), node.shapes[0], mesh)};
  }
  if (node.op == &kTranspose) {
    if (!operands[0]) return {};
    Axes axes;
    for (int64_t dim : node.attr<TransposeAttrs>().permutation) axes.push_back((*operands[0])[dim]);
    return {axes};
  }
  if (is_reduction(node.op)) {
    if (!operands[0]) return {};
    return {without(*operands[0], node.attr<ReduceAttrs>().dims)};
  }
  if (cuts_dims(node.op)) {
    if (!operands[0]) return {};
    return {of_equal_dims(*operands[0], operand_shape(0), node.shapes[0])};
  }
  // Whatever else keeps an operand's dims keeps its layout.
  std::vector<Placement> results;
  for (const Shape& shape : node.shapes) {
    std::vector<const Axes*> known;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i] && operand_shape(i).dims == shape.dims && shape.rank() > 0)
        known.push_back(&*operands[i]);
    }
    results.push_back(joined(known));
  }
  return results;
}

std::optional<Cut> choose_cut(const DimLabels& labels, std::span<const Shape> operands,
                              std::span<const Placement> placements, const Mesh& mesh) {
  for (const Placement& placement : placements) {
    if (!placement) return std::nullopt;
  }
  std::vector<size_t> by_size(operands.size());
  for (size_t i = 0; i < by_size.size(); ++i) by_size[i] = i;
  std::stable_sort(by_size.begin(), by_size.end(), [&](size_t x, size_t y) {
    return operands[x].elements() > operands[y].elements();
  });
  std::unordered_map<int, std::vector<std::string>> axes;
  std::set<std::string> used;
  const auto take = [&](int label, const std::vector<std::string>& wanted, int64_t size) {
    std::vector<std::string>& taken = axes[label];
    int64_t parts = 1;
    for (const std::string& axis : wanted) {
      if (size % (parts * mesh.axis_size(axis)) != 0 || !used.insert(axis).second) continue;
      parts *= mesh.axis_size(axis);
      taken.push_back(axis);
    }
  };
  const auto is_summed = [&](int label) {
    return std::find(labels.result.begin(), labels.result.end(), label) == labels.result.end();
  };
  for (const bool summed : {false, true}) {
    for (size_t i : by_size) {
      for (size_t dim = 0; dim < labels.operands[i].size(); ++dim) {
        const int label = labels.operands[i][dim];
        if (is_summed(label) != summed || axes.contains(label)) continue;
        std::vector<std::string> wanted = (*placements[i])[dim];
        for (size_t other = 0; summed && other < operands.size(); ++other) {
          const auto& its = labels.operands[other];
          const auto place = std::find(its.begin(), its.end(), label) - its.begin();
          if (place == std::ssize(its)) continue;
          std::erase_if(wanted, [&](const std::string& axis) {
            return !contains((*placements[other])[place], axis);
          });
        }
        if (!summed && wanted.empty() && i == by_size.front() && operands.size() > 1) {
          // The smaller operand may still split a dim that both have.
          bool elsewhere = false;
          for (size_t other : by_size) {
            const auto& its = labels.operands[other];
            const auto place = std::find(its.begin(), its.end(), label) - its.begin();
            elsewhere |= place < std::ssize(its) && !(*placements[other])[place].empty();
          }
          if (elsewhere) continue;
        }
        take(label, wanted, operands[i].dims[dim]);
      }
    }
  }
  Cut cut;
  const auto of_labels = [&](const std::vector<int>& list) {
    Axes result;
    for (int label : list) result.push_back(axes[label]);
    return result;
  };
  for (const auto& list : labels.operands) cut.operands.push_back(of_labels(list));
  cut.result = of_labels(labels.result);
  for (const auto& [label, taken] : axes) {
    if (is_summed(label)) cut.summed.insert(cut.summed.end(), taken.begin(), taken.end());
  }
  return cut;
}

Shape local_shape(const Shape& shape, const Axes& axes, const Mesh& mesh) {
  Shape local = shape;
  for (size_t dim = 0; dim < axes.size(); ++dim) local.dims[dim] /= parts_of(axes[dim], mesh);
  return local;
}

}  // namespace tessera::stablehlo
