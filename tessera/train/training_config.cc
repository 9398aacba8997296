#include "tessera/train/training_config.h"

#include <algorithm>

#include "tessera/base/nearest.h"
#include "tessera/base/strings.h"
#include "tessera/train/remat.h"

namespace tessera {

void TrainingConfig::fields(ConfigFields& f) {
  f.field("steps", steps).at_least(1).help("Updates in the whole run.");
  f.field("batch_size", batch_size)
      .range(1, 16'777'216)
      .help("Sequences a step, over all devices.");
  f.field("sequence_length", sequence_length).range(2, 16'777'216).help("Tokens a sequence.");
  f.field("gradient_accumulation_steps", gradient_accumulation_steps)
      .at_least(1)
      .help(
          "Parts that a batch is computed in, one after the other: less memory, the same update.");
  f.choice("dtype", dtype, {{"f32", ComputeType::kF32}, {"bf16", ComputeType::kBf16}})
      .help("What the step computes in; weights are f32.");
  f.field("scan_layers", scan_layers)
      .help("One loop over the layers: quick to compile. Else unrolled: often faster to run.");
  f.field("remat", remat)
      .one_of({"none", "save_dots", "minimal_with_context", "minimal", "save_qkv", "save_out",
               "full", "minimal_offloaded", "save_qkv_offloaded", "custom"})
      .help(
          "What layers keep for the reverse pass, from all (none is computed again) to their input "
          "only (full); `tessera train --explain-memory` shows what each costs. _offloaded: kept "
          "in the host's memory, for devices that have their own.");
  f.field("remat_names", remat_names)
      .help(
          "custom: values to keep, of query_proj, key_proj, value_proj, context, out_proj, "
          "mlpwi_0, "
          "mlpwi_1, mlpwo, decoder_layer_input.");
  f.field("remat_offload_names", remat_offload_names)
      .help("custom: of the same values, those to keep in the host's memory.");
  f.field("dropout", dropout)
      .range(0, 0.99)
      .help("Probability of leaving out an element of what a layer adds; never in validation.");
  f.field("attend_across_documents", attend_across_documents)
      .help("Let tokens of a packed row see the documents before theirs.");
  f.choice("context_parallel_strategy", context_parallel_strategy,
           {{"all_gather", ContextStrategy::kAllGather}, {"ring", ContextStrategy::kRing}})
      .help(
          "How attention reaches keys on other devices of the context axis: gather all, or let "
          "them go round.");
  f.field("context_parallel_load_balance", context_parallel_load_balance)
      .help("Give each device of the context axis an early and a late chunk of every sequence.");
  f.field("pipeline_microbatches", pipeline_microbatches)
      .range(1, 1'048'576)
      .or_value(-1)
      .help("Parts of the batch that go through a pipeline's stages; -1: as many as stages.");
  f.field("pipeline_repeats", pipeline_repeats)
      .range(1, 1'048'576)
      .help("Times that each part goes round the stages: more, and stages wait less.");
  f.field("seed", seed).help("Of the initial weights.");
  f.field("z_loss", z_loss)
      .range(0, 1)
      .help("Weight of the squared logarithm of the softmax's denominator.");
  f.field("eval_interval", eval_interval)
      .at_least(0)
      .help("Steps between validations; 0: only at the end.");
  f.field("eval_batches", eval_batches).at_least(0).help("Batches a validation; 0: none.");
  f.field("target_eval_loss", target_eval_loss)
      .above(0)
      .help("End the run where a validation's loss is at most this; null: never.");
}

namespace {

Status check_remat_name(const std::string& key, const std::string& name) {
  const std::vector<std::string>& names = named_activations();
  if (std::find(names.begin(), names.end(), name) != names.end()) return absl::OkStatus();
  return invalid_argument(key, ": no value is called ", name, "; the nearest is ",
                          nearest(name, names));
}

Status check_remat(const TrainingConfig& training) {
  const auto& kept = training.remat_names;
  const auto& offloaded = training.remat_offload_names;
  if (training.remat == "custom") {
    if (kept.empty() && offloaded.empty()) {
      return invalid_argument(
          "remat is custom, but remat_names is empty: name what to keep, such as ",
          "remat_names=[query_proj, out_proj], or use remat=full");
    }
  } else if (!kept.empty() || !offloaded.empty()) {
    return invalid_argument(kept.empty() ? "remat_offload_names" : "remat_names",
                            " is given, but remat is ", training.remat,
                            ": it belongs to remat=custom");
  }
  for (const std::string& name : kept) RETURN_IF_ERROR(check_remat_name("remat_names", name));
  for (const std::string& name : offloaded) {
    RETURN_IF_ERROR(check_remat_name("remat_offload_names", name));
    if (std::find(kept.begin(), kept.end(), name) == kept.end()) continue;
    return invalid_argument("remat_offload_names: ", name,
                            " is in remat_names too: keep it on the device or on the host");
  }
  return absl::OkStatus();
}

}  // namespace

Status TrainingConfig::validate() const {
  RETURN_IF_ERROR(check_remat(*this));
  if (target_eval_loss && (eval_batches == 0 || eval_interval == 0)) {
    return invalid_argument("target_eval_loss is ", *target_eval_loss, ", but ",
                            eval_batches == 0 ? "eval_batches" : "eval_interval",
                            " is 0, so no validation would reach it: set it to 1 or more");
  }
  const int64_t parts = gradient_accumulation_steps;
  if (batch_size % parts == 0) return absl::OkStatus();
  return invalid_argument(
      "batch_size is ", batch_size, ", which cannot be cut into ", parts,
      " equal parts (gradient_accumulation_steps): use ",
      parts > batch_size
          ? str_cat("gradient_accumulation_steps=", batch_size, " or a divisor of it")
          : str_cat("a multiple, such as ", (batch_size / parts + 1) * parts));
}

}  // namespace tessera
