#include "tessera/train/parallel_config.h"

#include <algorithm>

#include "absl/strings/str_join.h"

namespace tessera {
namespace {

const std::string kSequence = "activation_length_attn";
const std::string kStreamLength = "activation_norm_length";

// The axes of a name that the rules need not have.
Result<std::vector<std::string>> axes_of(const std::string& name, const AxisRules& rules,
                                         const Mesh& mesh) {
  const auto& all = rules.rules();
  const bool is_named =
      std::any_of(all.begin(), all.end(), [&](const AxisRule& rule) { return rule.name == name; });
  if (!is_named) return std::vector<std::string>();
  ASSIGN_OR_RETURN(const PartitionSpec spec, rules.resolve(std::span(&name, 1), mesh));
  return spec.dims[0];
}

int64_t next_multiple(int64_t value, int64_t of) { return (value + of - 1) / of * of; }

}  // namespace

int64_t axis_degree(const Mesh& mesh, std::string_view axis) {
  return mesh.find_axis(axis) ? mesh.axis_size(axis) : 1;
}

Result<std::vector<std::string>> sequence_axes(const AxisRules& rules, const Mesh& mesh) {
  return axes_of(kSequence, rules, mesh);
}

Result<int64_t> sequence_shards(const AxisRules& rules, const Mesh& mesh) {
  ASSIGN_OR_RETURN(const std::vector<std::string> axes, sequence_axes(rules, mesh));
  int64_t parts = 1;
  for (const std::string& axis : axes) parts *= mesh.axis_size(axis);
  return parts;
}

int64_t pipeline_microbatches(const TrainingConfig& training, int64_t stages) {
  return training.pipeline_microbatches == -1 ? stages : training.pipeline_microbatches;
}

Status validate_context(const TrainingConfig& training, const Mesh& mesh, const AxisRules& rules) {
  ASSIGN_OR_RETURN(const std::vector<std::string> axes, sequence_axes(rules, mesh));
  ASSIGN_OR_RETURN(const int64_t parts, sequence_shards(rules, mesh));
  const bool is_ring = training.context_parallel_strategy == ContextStrategy::kRing;
  if (is_ring && axis_degree(mesh, "context") > 1 && axes != std::vector<std::string>{"context"}) {
    return invalid_argument(
        "training.context_parallel_strategy is ring, which passes keys along the mesh axis context "
        "alone, but the sequence (",
        kSequence, ") is split over ", axes.empty() ? "no axis" : absl::StrJoin(axes, ", "),
        ": give the others degree 1, or set training.context_parallel_strategy=all_gather");
  }
  const int64_t length = training.sequence_length;
  if (parts == 1 || !training.context_parallel_load_balance || length % (2 * parts) == 0)
    return absl::OkStatus();
  return invalid_argument(
      "training.sequence_length is ", length, ", which cannot be cut into two chunks for each of ",
      parts, " devices (mesh axes ", absl::StrJoin(axes, ", "), "): use a multiple of ", 2 * parts,
      ", such as ", next_multiple(length, 2 * parts),
      ", or training.context_parallel_load_balance=false");
}

Status validate_ring(const TrainingConfig& training, const LlamaConfig& model, const Mesh& mesh) {
  const bool is_ring = training.context_parallel_strategy == ContextStrategy::kRing;
  if (!is_ring || axis_degree(mesh, "context") == 1) return absl::OkStatus();
  const bool has_cap = model.attention_soft_cap > 0;
  if (!model.sliding_window && !has_cap) return absl::OkStatus();
  return invalid_argument(
      has_cap ? str_cat("model.attention_soft_cap is ", model.attention_soft_cap)
              : str_cat("model.sliding_window is ", *model.sliding_window),
      ", which ring attention does not have: use training.context_parallel_strategy=all_gather");
}

Status validate_pipeline(const TrainingConfig& training, int64_t layers, const Mesh& mesh,
                         int64_t batch_shards) {
  const int64_t stages = axis_degree(mesh, "stage");
  if (stages == 1) return absl::OkStatus();
  const int64_t microbatches = pipeline_microbatches(training, stages);
  if (microbatches % stages != 0) {
    return invalid_argument("training.pipeline_microbatches is ", microbatches,
                            ", which is no multiple of the ", stages, " stages: use ",
                            next_multiple(microbatches, stages));
  }
  if (training.dropout > 0) {
    return invalid_argument("training.dropout is ", training.dropout, " in a pipeline of ", stages,
                            " stages, where parts of a batch cannot draw their own: use ",
                            "training.dropout=0, or ici_pipeline_parallelism=1");
  }
  const int64_t accumulated = training.gradient_accumulation_steps;
  const int64_t parts = microbatches * batch_shards * accumulated;
  if (training.batch_size % parts != 0) {
    return invalid_argument(
        "training.batch_size is ", training.batch_size, ", which cannot be cut into ", microbatches,
        " microbatches (training.pipeline_microbatches) of ", batch_shards,
        batch_shards == 1 ? " part" : " parts (mesh axes of the batch)",
        accumulated == 1 ? "" : ", training.gradient_accumulation_steps times",
        ": use a multiple of ", parts, ", such as ", next_multiple(training.batch_size, parts));
  }
  const int64_t repeats = training.pipeline_repeats;
  if (layers % (stages * repeats) == 0) return absl::OkStatus();
  return invalid_argument(
      "model.layers is ", layers, ", which cannot be cut into ", stages * repeats, " equal parts (",
      stages, " stages x training.pipeline_repeats=", repeats, "): use a multiple, such as ",
      next_multiple(layers, stages * repeats),
      layers % stages == 0 ? ", or training.pipeline_repeats=1" : ", or fewer stages");
}

Status validate_mixture_in_pipeline(const Mesh& mesh, const AxisRules& rules,
                                    int64_t batch_shards) {
  ASSIGN_OR_RETURN(const std::vector<std::string> axes, axes_of(kStreamLength, rules, mesh));
  if (axis_degree(mesh, "stage") == 1 || batch_shards == 1 || axes.empty()) return absl::OkStatus();
  return invalid_argument(
      "model.family is mixtral, whose pipeline (mesh axis stage) XLA cannot compile where both the "
      "batch is split, here into ",
      batch_shards, " parts, and the sequence, here over ", absl::StrJoin(axes, ", "), ": give ",
      absl::StrJoin(axes, ", "), " degree 1, or ici_pipeline_parallelism=1");
}

std::vector<std::string> settings_without_effect(const RunConfig& config, const Mesh& mesh,
                                                 int64_t slices) {
  std::vector<std::string> texts;
  const auto add = [&](bool without, const std::string& setting, const std::string& why) {
    if (without) texts.push_back(str_cat(setting, " has no effect: ", why));
  };
  const TrainingConfig& training = config.training;
  const bool one_stage = axis_degree(mesh, "stage") == 1;
  const std::string no_stages = "the mesh has one pipeline stage (ici_pipeline_parallelism)";
  add(one_stage && training.pipeline_microbatches != -1,
      str_cat("training.pipeline_microbatches=", training.pipeline_microbatches), no_stages);
  add(one_stage && training.pipeline_repeats != 1,
      str_cat("training.pipeline_repeats=", training.pipeline_repeats), no_stages);
  add(axis_degree(mesh, "context") == 1 &&
          training.context_parallel_strategy == ContextStrategy::kRing,
      "training.context_parallel_strategy=ring",
      "the mesh does not split sequences (ici_context_parallelism)");
  const int64_t replicas = config.mesh.single_slice_replicas;
  add(slices > 1 && replicas > 1, str_cat("single_slice_replicas=", replicas),
      str_cat("there are ", slices, " slices, which dcn_data_parallelism makes replicas of"));
  return texts;
}

}  // namespace tessera
