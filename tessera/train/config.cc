#include "tessera/train/config.h"

#include <algorithm>
#include <regex>

#include "absl/strings/str_join.h"
#include "tessera/train/parallel_config.h"

namespace tessera {

void ModelConfig::fields(ConfigFields& f) {
  f.field("family", family)
      .one_of({"llama", "mixtral"})
      .help("Which network; the keys beside this are its own.");
  llama.fields(f);
  mixture.fields(f);
}

Status ModelConfig::validate() const {
  RETURN_IF_ERROR(llama.validate());
  if (family == "mixtral") return mixture.validate();
  if (mixture == MixtureConfig()) return absl::OkStatus();
  return invalid_argument(
      "experts, experts_per_token, capacity_factor, drop_policy, balance_loss and "
      "router_z_loss are for a mixture of experts, and the family is ",
      family, ": set family=mixtral, or leave them out");
}

void TokenizerConfig::fields(ConfigFields& f) {
  f.field("kind", kind).one_of({"sentencepiece", "bytes"}).help("bytes: a token is a byte.");
  f.field("model", model)
      .expands_variables()
      .help("SentencePiece: the file of a model to use; empty: train one on the corpus.");
  f.field("vocab_size", vocab_size)
      .range(300, 1'048'576)
      .help("SentencePiece: tokens of a model that is trained.");
}

void DataConfig::fields(ConfigFields& f) {
  f.field("store", store)
      .expands_variables()
      .help("Folder of the token store; built from the corpus where it is missing.");
  f.field("corpus", corpus)
      .expands_variables()
      .help("Text and .jsonl files, folders, or patterns with *, ** and ?.");
  f.field("text_key", text_key)
      .not_empty()
      .help("The key of a JSON line that holds the document's text.");
  f.section("tokenizer", tokenizer, "how text becomes tokens when the store is built");
  f.field("validation_fraction", validation_fraction)
      .range(0, 0.9)
      .help("Share of the documents that is kept for validation, and never trained on.");
  f.field("shuffle", shuffle).help("Visit the examples of an epoch in a random order.");
  f.field("shuffle_seed", shuffle_seed)
      .help("That order is a pure function of this seed, the epoch and the index.");
}

void OptimizerConfig::fields(ConfigFields& f) {
  f.field("b1", b1).range(0, 0.999999).help("Decay of the gradient's running mean.");
  f.field("b2", b2).range(0, 0.9999999).help("Decay of the squared gradient's running mean.");
  f.field("epsilon", epsilon).above(0).help("Added to the root of the latter.");
  f.field("weight_decay", weight_decay)
      .range(0, 100)
      .help("Decoupled decay, times the learning rate.");
  f.field("no_decay", no_decay)
      .help("Regular expression: parameters whose name has a match are not decayed.");
  f.field("clip_norm", clip_norm)
      .range(0, 1e9)
      .help("Largest global norm of the gradients; 0: no clipping.");
}

Status OptimizerConfig::validate() const {
  constexpr size_t kMostCharacters = 1000;  // std::regex recurses, and would overrun the stack
  if (no_decay.size() > kMostCharacters) {
    return invalid_argument("no_decay has ", no_decay.size(), " characters; at most ",
                            kMostCharacters, " are allowed");
  }
  try {
    std::regex expression(no_decay);
  } catch (const std::regex_error& error) {
    return invalid_argument("no_decay is \"", no_decay,
                            "\", which is no regular expression: ", error.what());
  }
  return absl::OkStatus();
}

void TrainingConfig::fields(ConfigFields& f) {
  f.field("steps", steps).at_least(1).help("Updates in the whole run.");
  f.field("batch_size", batch_size)
      .range(1, 16'777'216)
      .help("Sequences a step, over all devices.");
  f.field("sequence_length", sequence_length).range(2, 16'777'216).help("Tokens a sequence.");
  f.choice("dtype", dtype, {{"f32", ComputeType::kF32}, {"bf16", ComputeType::kBf16}})
      .help("What the step computes in; weights and moments are f32.");
  f.field("scan_layers", scan_layers)
      .help("One loop over the layers: quick to compile. Else unrolled: often faster to run.");
  f.field("remat", remat)
      .help("Recompute each layer in the reverse pass: less memory, about a third more work.");
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
}

void CheckpointConfig::fields(ConfigFields& f) {
  f.field("enabled", enabled).help("Save checkpoints, and resume from the last one.");
  f.field("interval", interval)
      .at_least(1)
      .help("Steps between checkpoints; the last step is saved as well.");
  f.field("keep", keep).at_least(1).help("How many of the newest to keep; null: all.");
}

void LoggingConfig::fields(ConfigFields& f) {
  f.field("interval", interval)
      .at_least(1)
      .help("Steps between lines on the console; files get every step.");
  f.field("json", json).help("Write metrics.jsonl.");
  f.field("tensorboard", tensorboard).help("Write TensorBoard event files.");
}

void PluginConfig::fields(ConfigFields& f) {
  f.field("name", name)
      .not_empty()
      .help("PJRT plugin: cpu, cuda, rocm, tpu, or the path of its library.");
  f.field("devices", devices)
      .range(1, 1'048'576)
      .help("cpu: how many devices to make (null: 1). Others: how many there must be (null: any).");
}

void RunConfig::fields(ConfigFields& f) {
  f.field("output_directory", output_directory)
      .expands_variables()
      .help("Where checkpoints, metrics and the resolved config go.");
  f.section("model", model, "the network");
  f.section("data", data, "what it learns from");
  mesh.fields(f);
  f.section("optimizer", optimizer, "AdamW");
  f.section("schedule", schedule, "the learning rate");
  f.section("training", training, "steps and batches");
  f.section("checkpoint", checkpoint, "saving and resuming");
  f.section("logging", logging, "metrics");
  f.section("plugin", plugin, "devices");
}

Status RunConfig::validate() const {
  RETURN_IF_ERROR(mesh.validate());
  RETURN_IF_ERROR(resolved_schedule().validate_resolved());
  if (training.sequence_length > model.llama.max_sequence_length.value_or(INT64_MAX)) {
    return invalid_argument("training.sequence_length is ", training.sequence_length,
                            ", and the model is made for at most ",
                            *model.llama.max_sequence_length,
                            " (model.max_sequence_length): use training.sequence_length=",
                            *model.llama.max_sequence_length, " or less");
  }
  if (!plugin.devices) return absl::OkStatus();
  // What the devices themselves say of slices is known only when they are there.
  ASSIGN_OR_RETURN(const Slices slices, mesh.slices(*plugin.devices));
  ASSIGN_OR_RETURN(const MeshConfig resolved, mesh.resolved(slices));
  ASSIGN_OR_RETURN(const Mesh devices, resolved.mesh(slices));
  return validate_mesh(devices);
}

Status RunConfig::validate_mesh(const Mesh& devices) const {
  struct Cut {
    const char* key;
    int64_t size;
    const char* name;  // of the dimension, for the axis rules
  };
  std::vector<Cut> cuts = {
      {"training.batch_size", training.batch_size, "activation_batch"},
      {"training.sequence_length", training.sequence_length, "activation_length"},
      {"model.heads", model.llama.heads, "q_heads"},
      {"model.kv_heads", model.llama.kv_heads, "kv_heads"},
  };
  if (model.family == "mixtral") cuts.push_back({"model.experts", model.mixture.experts, "exp"});
  const AxisRules rules = mesh.rules();
  for (const Cut& cut : cuts) {
    const std::string name = cut.name;
    ASSIGN_OR_RETURN(const PartitionSpec spec, rules.resolve(std::span(&name, 1), devices));
    int64_t parts = 1;
    std::vector<std::string> axes;
    for (const std::string& axis : spec.dims[0]) {
      parts *= devices.axis_size(axis);
      axes.push_back(str_cat(axis, "=", devices.axis_size(axis)));
    }
    if (cut.size % parts == 0) continue;
    const int64_t next = (cut.size / parts + 1) * parts;
    return invalid_argument(cut.key, " is ", cut.size, ", which cannot be cut into ", parts,
                            " equal parts (mesh axes ", absl::StrJoin(axes, ", "),
                            "): use a multiple, such as ", next, ", or smaller degrees");
  }
  RETURN_IF_ERROR(validate_context(training, devices, rules));
  const std::string rows = "activation_batch";
  ASSIGN_OR_RETURN(const PartitionSpec spec, rules.resolve(std::span(&rows, 1), devices));
  int64_t batch_shards = 1;
  for (const std::string& axis : spec.dims[0]) batch_shards *= devices.axis_size(axis);
  if (model.family == "mixtral")
    RETURN_IF_ERROR(validate_mixture_in_pipeline(devices, rules, batch_shards));
  return validate_pipeline(training, model.llama.layers, devices, batch_shards);
}

Status RunConfig::validate_vocabulary(int64_t tokens) const {
  if (tokens <= model.llama.vocab_size) return absl::OkStatus();
  return invalid_argument("model.vocab_size is ", model.llama.vocab_size, ", but the tokenizer of ",
                          data.store, " has ", tokens, " tokens: set model.vocab_size=", tokens,
                          " or more, or build a smaller store");
}

}  // namespace tessera
