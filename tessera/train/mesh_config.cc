#include "tessera/train/mesh_config.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "absl/strings/str_join.h"
#include "tessera/base/nearest.h"
#include "tessera/base/strings.h"
#include "tessera/train/axis_rules.h"

namespace tessera {
namespace {

struct UsualAxis {
  const char* axis;
  const char* key;
  const char* help;
};

// In the order of the mesh: those that may cross slices come first.
constexpr UsualAxis kUsualAxes[] = {
    {"diloco", "diloco", "workers that exchange weights now and then; only 1 is supported"},
    {"data", "data", "copies of the weights, each with a part of the batch"},
    {"stage", "pipeline", "stages of layers, passed through by microbatches"},
    {"fsdp", "fsdp", "parts of the batch, with every weight sharded over them as well"},
    {"fsdp_transpose", "fsdp_transpose", "the same, sharding the other dimension of weights"},
    {"context", "context", "parts of the sequence"},
    {"context_usp_ulysses", "context_usp_ulysses", "parts of the sequence, exchanged for heads"},
    {"context_autoregressive", "context_autoregressive", "parts of the cache when decoding"},
    {"tensor", "tensor", "parts of the heads, the feed-forward width and the vocabulary"},
    {"tensor_sequence", "tensor_sequence", "the same, with norms split along the sequence"},
    {"expert", "expert", "parts of the experts, and of the batch elsewhere"},
    {"autoregressive", "autoregressive", "parts of weights when decoding"},
};

std::string degree_key(const char* tier, std::string_view axis) {
  return str_cat(tier, "_", axis, "_parallelism");
}

bool is_axis_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(),
                                      [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

Status must_be_one(std::string_view key, int64_t value, const char* reason) {
  if (value == 1) return absl::OkStatus();
  return invalid_argument(key, " is ", value, ": ", reason);
}

// More devices are no mesh of a machine that exists, and their product must not overflow.
constexpr double kMostDevices = 1'048'576;

}  // namespace

bool is_usual_axis(std::string_view axis) {
  return std::any_of(std::begin(kUsualAxes), std::end(kUsualAxes),
                     [&](const UsualAxis& usual) { return axis == usual.axis; });
}

MeshConfig::MeshConfig() {
  for (const UsualAxis& usual : kUsualAxes) {
    degrees.push_back({.name = usual.axis,
                       .ici = std::string_view(usual.axis) == "fsdp" ? -1 : 1,
                       .dcn = std::string_view(usual.axis) == "data" ? -1 : 1,
                       .ici_key = degree_key("ici", usual.key),
                       .dcn_key = degree_key("dcn", usual.key),
                       .is_fixed = std::string_view(usual.axis) == "diloco"});
  }
}

int64_t& MeshConfig::ici_degree(std::string_view axis) {
  for (AxisDegrees& degree : degrees) {
    if (degree.name == axis) return degree.ici;
  }
  CHECK_MSG(false, "no such axis");
  __builtin_unreachable();
}

void MeshConfig::fields(ConfigFields& f) {
  const auto add = [&](const std::string& key, int64_t& value, std::string_view help) {
    f.field(key, value).range(1, kMostDevices).or_value(-1).help(help);
  };
  for (size_t i = 0; i < degrees.size(); ++i)
    add(degrees[i].ici_key, degrees[i].ici, str_cat("Inside a slice: ", kUsualAxes[i].help, "."));
  add("ici_sequence_parallelism", ici_sequence, "No axis of the mesh; 1.");
  for (AxisDegrees& degree : degrees) add(degree.dcn_key, degree.dcn, "The same across slices.");
  add("dcn_sequence_parallelism", dcn_sequence, "No axis of the mesh; 1.");
  f.field("mesh_axes", axes)
      .help("Own axes in place of the usual ones, the outermost first; see ici_parallelism.");
  f.field("ici_parallelism", ici)
      .range(1, kMostDevices)
      .or_value(-1)
      .help("With mesh_axes: the degree of each inside a slice.");
  f.field("dcn_parallelism", dcn)
      .range(1, kMostDevices)
      .or_value(-1)
      .help("With mesh_axes: the degree of each across slices; empty: the first takes all.");
  f.field("num_slices", num_slices)
      .range(1, kMostDevices)
      .help("Cut the devices into so many slices; null: as the devices say.");
  f.choice("slices_from", slices_from,
           {{"device", SlicesFrom::kDevice}, {"process", SlicesFrom::kProcess}})
      .help("What tells slices apart: the devices' slice index, or their process.");
  f.field("single_slice_replicas", single_slice_replicas)
      .range(1, kMostDevices)
      .help("Data-parallel copies that a single slice is split into.");
  f.field("axis_rules", axis_rules)
      .help(
          "Mesh axes that split a dimension, by its name, in place of the usual ones: {mlp: [fsdp, "
          "tensor]}.");
  f.field("override_axis_rules", override_axis_rules)
      .help("Take axis_rules as the whole table, without the usual ones.");
  f.field("strict_sharding", strict_sharding)
      .help("An axis that does not divide a dimension is an error; else it is left out there.");
  f.field("sharding_tolerance", sharding_tolerance)
      .range(0, 1)
      .help("Share of the parameters' bytes that may be whole along an axis that could cut them.");
  f.field("shard_optimizer_over_data", shard_optimizer_over_data)
      .help("Cut the optimizer's state over the data axis too (ZeRO-1).");
}

std::vector<AxisDegrees> MeshConfig::axis_degrees() const {
  if (axes.empty()) {
    std::vector<AxisDegrees> ordered = degrees;
    // Stages may cross slices; with them the data axis is the inner one of the two.
    const auto stage = std::find_if(ordered.begin(), ordered.end(),
                                    [](const AxisDegrees& axis) { return axis.name == "stage"; });
    if (stage->ici != 1 || stage->dcn != 1) std::iter_swap(stage, stage - 1);
    return ordered;
  }
  std::vector<AxisDegrees> own;
  for (size_t i = 0; i < axes.size(); ++i) {
    own.push_back({.name = axes[i],
                   .ici = i < ici.size() ? ici[i] : 1,
                   .dcn = i < dcn.size() ? dcn[i] : (dcn.empty() && i == 0 ? -1 : 1),
                   .ici_key = str_cat("ici_parallelism of ", axes[i]),
                   .dcn_key = str_cat("dcn_parallelism of ", axes[i]),
                   .is_listed = true});
  }
  return own;
}

std::vector<std::string> MeshConfig::axis_names() const {
  std::vector<std::string> names;
  for (const AxisDegrees& axis : axis_degrees()) names.push_back(axis.name);
  return names;
}

Status MeshConfig::validate_axis_lists() const {
  if (axes.empty()) {
    if (ici.empty() && dcn.empty()) return absl::OkStatus();
    return invalid_argument(
        ici.empty() ? "dcn" : "ici",
        "_parallelism is for a recipe's own mesh_axes, and mesh_axes is empty: use the keys ",
        degrees[3].ici_key, " and the like");
  }
  if (degrees != MeshConfig().degrees) {
    return invalid_argument(
        "mesh_axes is given, so the degrees stand in ici_parallelism and dcn_parallelism: remove "
        "the ici_<axis>_parallelism and dcn_<axis>_parallelism keys");
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!is_axis_name(axes[i])) {
      return invalid_argument("mesh_axes has '", axes[i],
                              "': an axis is named by letters, digits and _, such as model");
    }
    if (std::find(axes.begin(), axes.begin() + i, axes[i]) == axes.begin() + i) continue;
    return invalid_argument("mesh_axes names ", axes[i], " twice: give each axis its own name");
  }
  for (const auto& [key, list] : {std::pair{"ici_parallelism", &ici}, {"dcn_parallelism", &dcn}}) {
    if (list->size() == axes.size() || (list == &dcn && dcn.empty())) continue;
    return invalid_argument(key, " has ", list->size(), " degrees, and mesh_axes names ",
                            axes.size(), " axes: give one an axis");
  }
  return absl::OkStatus();
}

/// A rule for a name that no dimension has would be obeyed by nobody, so it must be a slip.
Status MeshConfig::validate_rules() const {
  if (override_axis_rules && axis_rules.empty()) {
    return invalid_argument(
        "override_axis_rules is true and axis_rules is empty: every tensor would be whole "
        "everywhere; give the table, or override_axis_rules=false");
  }
  std::vector<std::string> names;
  const AxisRules usual = default_axis_rules();
  for (const AxisRule& rule : usual.rules()) names.push_back(rule.name);
  const auto check = [](const std::vector<std::string>& known, const std::string& word,
                        const std::string& what) -> Status {
    if (std::find(known.begin(), known.end(), word) != known.end()) return absl::OkStatus();
    const std::string near = nearest(word, known);
    const std::set<std::string> each(known.begin(), known.end());
    return invalid_argument("axis_rules: ", what, " is called ", word,
                            near.empty() ? "; there are " : "; the nearest is ",
                            near.empty() ? absl::StrJoin(each, ", ") : near);
  };
  const std::vector<std::string> known_axes = axis_names();
  for (const auto& [name, parts] : axis_rules) {
    RETURN_IF_ERROR(check(names, name, "no dimension"));
    for (size_t i = 0; i < parts.size(); ++i) {
      RETURN_IF_ERROR(check(known_axes, parts[i], str_cat("(", name, ") no mesh axis")));
      if (std::find(parts.begin(), parts.begin() + i, parts[i]) == parts.begin() + i) continue;
      return invalid_argument("axis_rules: (", name, ") names the mesh axis ", parts[i],
                              " twice: an axis splits a dimension once");
    }
  }
  return absl::OkStatus();
}

Status MeshConfig::validate() const {
  RETURN_IF_ERROR(validate_axis_lists());
  RETURN_IF_ERROR(validate_rules());
  for (const int64_t sequence : {ici_sequence, dcn_sequence}) {
    RETURN_IF_ERROR(must_be_one(
        sequence == ici_sequence ? "ici_sequence_parallelism" : "dcn_sequence_parallelism",
        sequence,
        "no axis of the mesh has that name; "
        "ici_context_parallelism splits the sequence"));
  }
  for (const AxisDegrees& axis : degrees) {
    if (axis.name != "diloco") continue;
    const char* reason = "training in that way is not supported; use 1";
    RETURN_IF_ERROR(must_be_one(axis.ici_key, axis.ici, reason));
    RETURN_IF_ERROR(must_be_one(axis.dcn_key, axis.dcn, reason));
  }
  return check_degrees(axis_degrees());
}

Result<Slices> MeshConfig::slices(int64_t devices) const {
  std::vector<int64_t> ids(devices);
  std::iota(ids.begin(), ids.end(), 0);
  return even_slices(ids, num_slices.value_or(1));
}

Result<MeshConfig> MeshConfig::resolved(const Slices& slices) const {
  RETURN_IF_ERROR(validate());
  const auto count = static_cast<int64_t>(slices.size());
  const auto size = static_cast<int64_t>(slices[0].size());
  std::vector<AxisDegrees> all = axis_degrees();
  const bool split = count == 1 && single_slice_replicas > 1;
  if (split && size % single_slice_replicas != 0) {
    return invalid_argument("single_slice_replicas is ", single_slice_replicas,
                            ", which does not divide the ", size,
                            size == 1 ? " device" : " devices", " of the slice");
  }
  ASSIGN_OR_RETURN(
      all, resolve_degrees(std::move(all), split ? size / single_slice_replicas : size, count));
  MeshConfig result = *this;
  result.num_slices = count;
  if (split) {
    // The copies are further parts of the data axis, or of the first where there is none.
    const auto data = std::find_if(all.begin(), all.end(),
                                   [](const AxisDegrees& axis) { return axis.name == "data"; });
    (data == all.end() ? all.front() : *data).ici *= single_slice_replicas;
    result.single_slice_replicas = 1;
  }
  if (axes.empty()) {
    for (AxisDegrees& degree : result.degrees)
      degree = *std::find_if(all.begin(), all.end(),
                             [&](const AxisDegrees& axis) { return axis.name == degree.name; });
    return result;
  }
  result.ici.clear();
  result.dcn.clear();
  for (const AxisDegrees& axis : all) {
    result.ici.push_back(axis.ici);
    result.dcn.push_back(axis.dcn);
  }
  return result;
}

Result<Mesh> MeshConfig::mesh(const Slices& slices) const {
  return hybrid_mesh(axis_degrees(), slices);
}

// Of a recipe's own axes the mesh has only those that it names, so the usual table acts as far as
// its axes are among them.
AxisRules MeshConfig::usual_rules() const {
  const std::vector<std::string> known = axis_names();
  std::vector<AxisRule> rules;
  const AxisRules usual = default_axis_rules();
  for (const AxisRule& rule : usual.rules()) {
    AxisRule kept = {rule.name, {}};
    for (const std::string& axis : rule.axes) {
      if (std::find(known.begin(), known.end(), axis) != known.end()) kept.axes.push_back(axis);
    }
    rules.push_back(std::move(kept));
  }
  return AxisRules(std::move(rules));
}

AxisRules MeshConfig::rules() const {
  std::vector<AxisRule> own;
  std::set<std::string> named;
  for (const auto& [name, parts] : axis_rules) {
    own.push_back({name, parts});
    named.insert(name);
  }
  const AxisRules usual = usual_rules();
  const Indivisible indivisible = strict_sharding ? Indivisible::kKeep : Indivisible::kDrop;
  if (!override_axis_rules) return usual.with(own).with(indivisible);
  for (const AxisRule& rule : usual.rules()) {
    if (named.insert(rule.name).second) own.push_back({rule.name, {}});
  }
  return AxisRules(std::move(own)).with(indivisible);
}

}  // namespace tessera
