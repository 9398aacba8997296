#include <nlohmann/json.hpp>

#include "tessera/train/mesh_report.h"

namespace tessera {
namespace {

Json tensor_json(const TensorReport& tensor) {
  Json spec = Json::array();
  for (int dim = 0; dim < tensor.shape.rank(); ++dim) {
    const auto& dims = tensor.spec.dims;
    spec.push_back(static_cast<size_t>(dim) < dims.size() ? Json(dims[dim]) : Json::array());
  }
  return {{"name", tensor.name},        {"dtype", dtype_name(tensor.shape.dtype)},
          {"shape", tensor.shape.dims}, {"dims", tensor.dim_names},
          {"spec", std::move(spec)},    {"shard", tensor.shard.dims},
          {"bytes", tensor.bytes}};
}

Json tensors_json(std::span<const TensorReport> tensors) {
  Json list = Json::array();
  for (const TensorReport& tensor : tensors) list.push_back(tensor_json(tensor));
  return list;
}

Json compiled_json(const CompileReport& compiled) {
  Json collectives = Json::array();
  for (const CollectiveReport& use : compiled.collectives) {
    collectives.push_back({{"kind", use.kind},
                           {"axes", use.axes},
                           {"crosses_slices", use.crosses_slices},
                           {"count", use.count},
                           {"bytes", use.bytes}});
  }
  return {{"compile_s", compiled.compile_seconds},
          {"argument_bytes", compiled.argument_bytes},
          {"temp_bytes", compiled.temp_bytes},
          {"flops", compiled.flops},
          {"collectives", std::move(collectives)}};
}

}  // namespace

Json to_json(const MeshReport& report) {
  Json axes = Json::array(), rules = Json::array(), replicated = Json::array(),
       unused = Json::array();
  for (const AxisDegrees& axis : report.axes) {
    axes.push_back(
        {{"name", axis.name}, {"size", axis.ici * axis.dcn}, {"ici", axis.ici}, {"dcn", axis.dcn}});
  }
  for (const AxisRule& rule : report.rules)
    rules.push_back({{"name", rule.name}, {"axes", rule.axes}});
  for (const ReplicatedParam& param : report.replicated) {
    replicated.push_back(
        {{"name", param.path}, {"axes", param.axes}, {"shard_bytes", param.shard_bytes}});
  }
  for (const UnusedAxis& axis : report.unused) {
    unused.push_back(
        {{"name", axis.path}, {"dim", axis.dim}, {"size", axis.size}, {"axis", axis.axis}});
  }
  Json json = {{"devices", report.layout.mesh.size()},
               {"axes", std::move(axes)},
               {"slices", report.slices},
               {"device_ids", report.layout.mesh.device_ids()},
               {"parameters", report.parameters},
               {"rules", std::move(rules)},
               {"params", tensors_json(report.params)},
               {"optimizer", tensors_json(report.optimizer)},
               {"batch", tensors_json(report.batch)},
               {"activations", tensors_json(report.activations)},
               {"state_bytes", report.state_bytes()},
               {"replicated", std::move(replicated)},
               {"unused", std::move(unused)}};
  if (report.compiled) json["compiled"] = compiled_json(*report.compiled);
  return json;
}

}  // namespace tessera
