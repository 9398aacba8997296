#include <algorithm>
#include <map>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tessera/base/format.h"
#include "tessera/train/mesh_report.h"

namespace tessera {
namespace {

constexpr size_t kMostRows = 16, kMostColumns = 16;

std::map<int64_t, int64_t> slice_of(const Slices& slices) {
  std::map<int64_t, int64_t> slice;
  for (size_t i = 0; i < slices.size(); ++i) {
    for (int64_t id : slices[i]) slice[id] = static_cast<int64_t>(i);
  }
  return slice;
}

/// "0", "0-3": the slices of a row of devices.
std::string slices_text(std::span<const int64_t> ids, const std::map<int64_t, int64_t>& slice) {
  int64_t low = slice.at(ids[0]), high = low;
  for (int64_t id : ids) {
    low = std::min(low, slice.at(id));
    high = std::max(high, slice.at(id));
  }
  return low == high ? str_cat(low) : str_cat(low, "-", high);
}

/// "embed 512, mlp 1536".
std::string named_dims(const TensorReport& tensor) {
  std::string text;
  for (size_t i = 0; i < tensor.shape.dims.size(); ++i) {
    const std::string name = i < tensor.dim_names.size() ? tensor.dim_names[i] : "";
    str_append(&text, i > 0 ? ", " : "", name, name.empty() ? "" : " ", tensor.shape.dims[i]);
  }
  return text;
}

std::string tensor_table(std::span<const TensorReport> tensors) {
  TextTable table({false, false, false, false, true});
  for (const TensorReport& tensor : tensors) {
    table.add({tensor.name, named_dims(tensor), to_string(tensor.spec, tensor.shape.rank()),
               to_string(tensor.shard), bytes_text(tensor.bytes)});
  }
  return table.text(2);
}

std::string axes_text(const MeshReport& report) {
  TextTable table({false, true, true, true});
  table.add({"axis", "size", "inside a slice", "across slices"});
  for (const AxisDegrees& axis : report.axes) {
    if (axis.ici * axis.dcn == 1) continue;
    table.add({axis.name, str_cat(axis.ici * axis.dcn), str_cat(axis.ici), str_cat(axis.dcn)});
  }
  return table.text(2);
}

std::string rules_text(const MeshReport& report) {
  TextTable table({false, false});
  std::vector<std::string> whole;
  for (const AxisRule& rule : report.rules) {
    if (rule.axes.empty()) {
      whole.push_back(rule.name);
    } else {
      table.add({rule.name, absl::StrJoin(rule.axes, ", ")});
    }
  }
  const std::string rest =
      whole.empty() ? "" : wrapped(str_cat("whole: ", absl::StrJoin(whole, ", ")), 96);
  std::string text = table.text(2);
  for (size_t at = 0; at < rest.size();) {
    const size_t end = std::min(rest.find('\n', at), rest.size());
    str_append(&text, "  ", rest.substr(at, end - at), "\n");
    at = end + 1;
  }
  return text;
}

/// What a device would be spared if the parameter were cut along these axes too.
double cost(const ReplicatedParam& param, const Layout& layout) {
  double parts = 1;
  for (const std::string& axis : param.axes)
    parts *= static_cast<double>(layout.mesh.axis_size(axis));
  return param.shard_bytes * (1 - 1 / parts);
}

std::string replicated_text(const MeshReport& report) {
  if (report.replicated.empty()) return "  nothing\n";
  constexpr size_t kMost = 10;
  TextTable table({false, false, false, true});
  table.add({"parameter", "spec", "whole along", "cost"});
  double total = 0;
  for (size_t i = 0; i < report.replicated.size(); ++i) {
    const ReplicatedParam& param = report.replicated[i];
    total += cost(param, report.layout);
    if (i >= kMost) continue;
    table.add({param.path, param.spec, absl::StrJoin(param.axes, ", "),
               bytes_text(cost(param, report.layout))});
  }
  std::string text = table.text(2);
  if (report.replicated.size() > kMost)
    str_append(&text, "  and ", report.replicated.size() - kMost, " smaller ones\n");
  return str_cat(
      text, "  in all ", bytes_text(total),
      " of weights a device, as much again of gradients, and of moments as the optimizer "
      "has\n");
}

std::string compiled_text(const CompileReport& compiled) {
  std::string text = absl::StrFormat(
      "\ncompiled for %d devices in %.1f s, a device:\n  arguments %s, temporary %s, %.4g TFLOP of "
      "matrix products a step\n",
      compiled.devices, compiled.compile_seconds, bytes_text(compiled.argument_bytes),
      bytes_text(compiled.temp_bytes), compiled.flops / 1e12);
  TextTable table({false, false, false, true, true});
  table.add({"collective", "over", "slices", "times", "bytes a step"});
  for (const CollectiveReport& use : compiled.collectives) {
    table.add({use.kind, absl::StrJoin(use.axes, ", "), use.crosses_slices ? "across" : "inside",
               count_text(use.count), bytes_text(use.bytes)});
  }
  return text + (compiled.collectives.empty() ? "  no collectives\n" : table.text(2));
}

}  // namespace

std::string mesh_picture(const Mesh& mesh, const Slices& slices) {
  std::vector<MeshAxis> axes;
  for (const MeshAxis& axis : mesh.axes()) {
    if (axis.size > 1) axes.push_back(axis);
  }
  if (axes.empty()) return str_cat("  device ", mesh.device_ids()[0], "\n");
  const std::map<int64_t, int64_t> slice = slice_of(slices);
  const auto columns = static_cast<size_t>(axes.back().size);
  const size_t shown = std::min(columns, kMostColumns), rows = mesh.device_ids().size() / columns;
  std::vector<bool> right(axes.size() - 1 + (slices.size() > 1), false);
  right.resize(right.size() + shown + (columns > shown), true);
  TextTable table(right);
  std::vector<std::string> header;
  if (slices.size() > 1) header.push_back("slice");
  for (size_t i = 0; i + 1 < axes.size(); ++i) header.push_back(axes[i].name);
  header.push_back(str_cat(axes.back().name, " 0"));
  for (size_t i = 1; i < shown; ++i) header.push_back(str_cat(i));
  if (columns > shown) header.push_back(str_cat("... ", columns - 1));
  table.add(std::move(header));
  for (size_t row = 0; row < std::min(rows, kMostRows); ++row) {
    const auto ids = mesh.device_ids().subspan(row * columns, columns);
    std::vector<std::string> cells;
    if (slices.size() > 1) cells.push_back(slices_text(ids, slice));
    size_t rest = row;
    std::vector<std::string> place(axes.size() - 1);
    for (size_t i = place.size(); i-- > 0; rest /= axes[i].size)
      place[i] = str_cat(rest % axes[i].size);
    cells.insert(cells.end(), place.begin(), place.end());
    for (size_t i = 0; i < shown; ++i) cells.push_back(str_cat(ids[i]));
    if (columns > shown) cells.push_back(str_cat(ids.back()));
    table.add(std::move(cells));
  }
  return table.text(2) +
         (rows > kMostRows ? str_cat("  ... ", rows - kMostRows, " rows more\n") : "");
}

std::string to_text(const MeshReport& report) {
  const auto devices = report.layout.mesh.size();
  std::string text = str_cat("mesh ", to_string(report.layout.mesh), ": ", devices,
                             devices == 1 ? " device" : " devices", " in ", report.slices.size(),
                             report.slices.size() == 1 ? " slice, " : " slices, ",
                             count_text(report.parameters), " parameters\n");
  if (devices > 1) {
    str_append(&text, axes_text(report), "\ndevices\n",
               mesh_picture(report.layout.mesh, report.slices));
    str_append(&text, "\nrules\n", rules_text(report));
  }
  str_append(&text, "\nparameters\n", tensor_table(report.params));
  str_append(&text, "a device: weights ", bytes_text(MeshReport::bytes(report.params)),
             ", gradients as much, optimizer's state ",
             bytes_text(MeshReport::bytes(report.optimizer)), "; in all ",
             bytes_text(report.state_bytes()), "\n");
  str_append(&text, "\nbatch and activations\n", tensor_table(report.batch),
             tensor_table(report.activations));
  if (devices > 1)
    str_append(&text, "\nwhole along an axis that could cut it\n", replicated_text(report));
  for (const UnusedAxis& unused : report.unused) str_append(&text, "  ", to_string(unused), "\n");
  if (report.compiled) str_append(&text, compiled_text(*report.compiled));
  return text;
}

}  // namespace tessera
