#include "tessera/train/config.h"

#include <algorithm>
#include <regex>

#include "absl/strings/str_join.h"
#include "tessera/base/nearest.h"
#include "tessera/train/axis_rules.h"

namespace tessera {

void ModelConfig::fields(ConfigFields& f) {
  f.field("family", family)
      .one_of({"llama"})
      .help("Which network; the keys beside this are its own.");
  llama.fields(f);
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

void MeshConfig::fields(ConfigFields& f) {
  constexpr double kMost = 1'048'576;
  f.field("data", data)
      .range(1, kMost)
      .or_value(-1)
      .help("Copies of the weights, each with a part of the batch.");
  f.field("fsdp", fsdp)
      .range(1, kMost)
      .or_value(-1)
      .help(
          "Parts of the batch, with each weight sharded over them; -1: what the other axes leave.");
  f.field("tensor", tensor)
      .range(1, kMost)
      .or_value(-1)
      .help("Parts of the heads, the feed-forward width, the vocabulary.");
}

Status MeshConfig::validate() const {
  const int fills = (data == -1) + (fsdp == -1) + (tensor == -1);
  if (fills <= 1) return absl::OkStatus();
  return invalid_argument("data is ", data, ", fsdp ", fsdp, ", tensor ", tensor,
                          ": -1 takes what the others leave, so only one may be -1");
}

std::vector<MeshAxis> MeshConfig::axes() const {
  std::vector<MeshAxis> axes;
  for (const char* name :
       {"diloco", "data", "stage", "fsdp", "fsdp_transpose", "context", "context_usp_ulysses",
        "context_autoregressive", "tensor", "tensor_sequence", "expert", "autoregressive"}) {
    axes.push_back({name, 1});
  }
  axes[1].size = data;
  axes[3].size = fsdp;
  axes[8].size = tensor;
  return axes;
}

Result<MeshConfig> MeshConfig::resolved(int64_t devices) const {
  RETURN_IF_ERROR(validate());
  MeshConfig mesh = *this;
  int64_t product = 1;
  int64_t* fill = nullptr;
  for (int64_t* size : {&mesh.data, &mesh.fsdp, &mesh.tensor}) {
    if (*size == -1) {
      fill = size;
    } else {
      product *= *size;
    }
  }
  if (fill && devices % product == 0) {
    *fill = devices / product;
    return mesh;
  }
  if (!fill && product == devices) return mesh;
  return invalid_argument(
      "the mesh (mesh.data ", data, ", mesh.fsdp ", fsdp, ", mesh.tensor ", tensor, ") needs ",
      fill ? "a multiple of " : "", product, product == 1 ? " device" : " devices", ", and there ",
      devices == 1 ? "is " : "are ", devices, ": change an axis, or plugin.devices");
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

namespace {

/// A rule for a name that no dimension has would be obeyed by nobody, so it must be a slip.
Status check_axis_rules(const RunConfig& config) {
  std::vector<std::string> names, axes;
  const AxisRules rules = default_axis_rules();
  for (const AxisRule& rule : rules.rules()) names.push_back(rule.name);
  for (const MeshAxis& axis : config.mesh.axes()) axes.push_back(axis.name);
  auto check = [](const std::vector<std::string>& known, const std::string& word,
                  const char* what) -> Status {
    if (std::find(known.begin(), known.end(), word) != known.end()) return absl::OkStatus();
    const std::string near = nearest(word, known);
    return invalid_argument("axis_rules: ", what, " is called ", word,
                            near.empty() ? "; there are " : "; the nearest is ",
                            near.empty() ? absl::StrJoin(known, ", ") : near);
  };
  for (const auto& [name, parts] : config.axis_rules) {
    RETURN_IF_ERROR(check(names, name, "no dimension"));
    for (const std::string& axis : parts) RETURN_IF_ERROR(check(axes, axis, "no mesh axis"));
  }
  return absl::OkStatus();
}

}  // namespace

void RunConfig::fields(ConfigFields& f) {
  f.field("output_directory", output_directory)
      .expands_variables()
      .help("Where checkpoints, metrics and the resolved config go.");
  f.section("model", model, "the network");
  f.section("data", data, "what it learns from");
  f.section("mesh", mesh, "how devices are arranged");
  f.field("axis_rules", axis_rules)
      .help(
          "Mesh axes that split a dimension, by its name, in place of the usual ones: {mlp: [fsdp, "
          "tensor]}.");
  f.section("optimizer", optimizer, "AdamW");
  f.section("schedule", schedule, "the learning rate");
  f.section("training", training, "steps and batches");
  f.section("checkpoint", checkpoint, "saving and resuming");
  f.section("logging", logging, "metrics");
  f.section("plugin", plugin, "devices");
}

AxisRules RunConfig::resolved_axis_rules() const {
  std::vector<AxisRule> overrides;
  for (const auto& [name, axes] : axis_rules) overrides.push_back({name, axes});
  return default_axis_rules().with(overrides);
}

Status RunConfig::validate() const {
  RETURN_IF_ERROR(check_axis_rules(*this));
  RETURN_IF_ERROR(resolved_schedule().validate_resolved());
  if (plugin.devices) return validate_mesh(*plugin.devices);
  return absl::OkStatus();
}

Status RunConfig::validate_mesh(int64_t devices) const {
  ASSIGN_OR_RETURN(const MeshConfig resolved, mesh.resolved(devices));
  struct Rule {
    const char* key;
    int64_t size;
    const char* axes;
    int64_t parts;
    const char* name;  // of the dimension: a recipe's own rule for it cuts it otherwise
  };
  const LlamaConfig& llama = model.llama;
  const Rule rules[] = {
      {"training.batch_size", training.batch_size, "mesh.data x mesh.fsdp", resolved.batch_shards(),
       "activation_batch"},
      {"model.embed", llama.embed, "mesh.fsdp", resolved.fsdp, "embed"},
      {"model.heads", llama.heads, "mesh.tensor", resolved.tensor, "q_heads"},
      {"model.kv_heads", llama.kv_heads, "mesh.tensor", resolved.tensor, "kv_heads"},
      {"model.mlp", llama.mlp, "mesh.tensor", resolved.tensor, "mlp"},
      {"model.vocab_size", llama.vocab_size, "mesh.tensor", resolved.tensor, "vocab"},
  };
  for (const Rule& rule : rules) {
    const auto is_its_own = [&](const auto& own) { return own.first == rule.name; };
    if (std::any_of(axis_rules.begin(), axis_rules.end(), is_its_own)) continue;
    if (rule.size % rule.parts == 0) continue;
    const int64_t next = (rule.size / rule.parts + 1) * rule.parts;
    return invalid_argument(rule.key, " is ", rule.size, ", which cannot be cut into ", rule.parts,
                            " equal parts (", rule.axes, " on ", devices,
                            " devices): use a multiple, such as ", next);
  }
  return absl::OkStatus();
}

Status RunConfig::validate_vocabulary(int64_t tokens) const {
  if (tokens <= model.llama.vocab_size) return absl::OkStatus();
  return invalid_argument("model.vocab_size is ", model.llama.vocab_size, ", but the tokenizer of ",
                          data.store, " has ", tokens, " tokens: set model.vocab_size=", tokens,
                          " or more, or build a smaller store");
}

}  // namespace tessera
