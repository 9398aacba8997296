#include "tessera/train/config.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "tessera/base/filesystem.h"
#include "tessera/kernels/kernel.h"
#include "tessera/models/lora/model.h"
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
  f.field("kind", kind)
      .one_of({"sentencepiece", "huggingface", "bytes"})
      .help("huggingface: byte-level BPE (GPT-2, Llama 3, Qwen). bytes: a token is a byte.");
  f.field("model", model)
      .expands_variables()
      .help("File of a SentencePiece model, empty: train one on the corpus; or a tokenizer.json.");
  f.field("vocab_size", vocab_size)
      .range(300, 1'048'576)
      .help("SentencePiece: tokens of a model that is trained.");
  special_token_fields(special, f);
}

void document_fields(bool& skip_bad, int64_t& max_document_bytes, ConfigFields& f) {
  f.field("skip_bad", skip_bad)
      .help("Leave out, and count, documents that cannot be read, instead of ending at the first.");
  f.field("max_document_bytes", max_document_bytes)
      .range(0, int64_t{1} << 40)
      .help("Leave out, and count, documents with more bytes of text; 0: none.");
}

void special_token_fields(SpecialTokenNames& names, ConfigFields& f) {
  f.field("bos_token", names.bos)
      .help("Hugging Face: what documents begin with; empty: as tokenizer_config.json says.");
  f.field("eos_token", names.eos).help("What documents end with.");
  f.field("pad_token", names.pad).help("What fills up.");
}

void ChatTemplateConfig::fields(ConfigFields& f) {
  f.field("system", system).help("A system message; {content} is its text.");
  f.field("user", user).help("What a user says.");
  f.field("assistant", assistant)
      .help("What the assistant says: {content} and what follows it is learned.");
}

void LoraConfig::fields(ConfigFields& f) {
  f.field("rank", rank).range(0, 65536).help("Columns of the adapters' matrices; 0: no adapters.");
  f.field("alpha", alpha).above(0).help("Adapters are scaled by alpha / rank.");
  f.field("targets", targets)
      .help("Regular expression: matrices whose name has a match get adapters.");
}

Status LoraConfig::validate() const { return check_regex("targets", targets); }

void DataConfig::fields(ConfigFields& f) {
  f.field("store", store)
      .expands_variables()
      .help("Folder of the token store; built from the corpus where it is missing.");
  f.field("mixture", mixture)
      .help(
          "Several stores instead: name: [store, weight], or [store, weight, epochs]. Each has a "
          "position and epochs of its own.");
  f.field("corpus", corpus)
      .expands_variables()
      .help("Text, .jsonl and .parquet files, folders, or patterns with *, ** and ?.");
  f.field("text_key", text_key)
      .not_empty()
      .help("The key of a JSON line, or the column, that holds the document's text.");
  document_fields(skip_bad, max_document_bytes, f);
  f.section("chat_template", chat_template,
            "how task sft makes text of a JSON line's \"messages\"");
  f.section("tokenizer", tokenizer, "how text becomes tokens when the store is built");
  f.field("validation_fraction", validation_fraction)
      .range(0, 0.9)
      .help("Share of the documents that is kept for validation, and never trained on.");
  f.choice("packing", packing,
           {{"concatenate", Packing::kConcatenate}, {"first_fit", Packing::kFirstFit}})
      .help(
          "How documents become rows: back to back and cut where a row is full, or each whole into "
          "the first row with room, with padding.");
  f.field("epochs", epochs)
      .at_least(0)
      .help("How often the examples are gone through; 0: as often as training.steps asks for.");
  f.field("shuffle", shuffle).help("Visit the examples of an epoch in a random order.");
  f.field("shuffle_seed", shuffle_seed)
      .help("That order is a pure function of this seed, the epoch and the index.");
  f.choice("loading", loading,
           {{"per_process", LoadingStrategy::kPerProcess},
            {"even", LoadingStrategy::kEven},
            {"whole", LoadingStrategy::kWhole}})
      .help(
          "Of several processes each reads the rows that its devices hold; an equal share, which "
          "the devices then exchange; or all of a batch.");
  f.field("workers", workers).range(1, 1024).help("Threads that make batches ahead.");
  f.field("prefetch", prefetch).range(1, 65536).help("Batches made ahead, at most.");
}

Status DataConfig::validate() const { return sources().status(); }

Result<std::vector<DataSource>> DataConfig::sources() const {
  std::vector<DataSource> sources;
  if (mixture.empty()) {
    sources.push_back({.name = "", .store = store, .epochs = epochs});
    return sources;
  }
  if (!store.empty() || !corpus.empty())
    return invalid_argument(store.empty() ? "corpus" : "store",
                            " is given beside mixture, which names its own stores: leave one out");
  for (const auto& [name, parts] : mixture) {
    DataSource source{.name = name, .store = "", .epochs = epochs};
    const bool good =
        !name.empty() && (parts.size() == 2 || parts.size() == 3) && !parts[0].empty() &&
        absl::SimpleAtod(parts[1], &source.weight) && source.weight > 0 &&
        std::isfinite(source.weight) &&
        (parts.size() < 3 || (absl::SimpleAtoi(parts[2], &source.epochs) && source.epochs >= 0));
    if (!good)
      return invalid_argument("mixture.", name, " is [", absl::StrJoin(parts, ", "),
                              "]; required: [folder of a token store, weight above 0, and, if "
                              "wanted, epochs from 0 (without end) on]");
    source.store = parts[0];
    sources.push_back(std::move(source));
  }
  return sources;
}

void CheckpointConfig::fields(ConfigFields& f) {
  f.field("enabled", enabled).help("Save checkpoints, and resume from the last one.");
  f.field("directory", directory)
      .expands_variables()
      .help(
          "Where they go: a folder, or s3://bucket/folder; empty: checkpoints/ in the "
          "output_directory.");
  f.field("interval", interval)
      .at_least(1)
      .help("Steps between checkpoints; save_on_* say when else.");
  f.field("save_on_start", save_on_start).help("Save a new run before its first step.");
  f.field("save_on_end", save_on_end).help("Save after the last step.");
  f.field("save_on_stop", save_on_stop)
      .help("Save when asked to stop: Ctrl-C, SIGTERM, a closed terminal.");
  f.field("save_on_error", save_on_error)
      .help("Save the last complete step when the run ends with an error.");
  f.field("skip_when_busy", skip_when_busy)
      .help("Leave out a checkpoint that falls due while one is being written; else wait for it.");
  f.field("keep", keep).at_least(1).help("How many of the newest to keep; null: all.");
  f.field("keep_every_steps", keep_every_steps)
      .at_least(0)
      .help("Keep those at multiples of this as well; 0: none for that.");
  f.field("keep_best", keep_best)
      .at_least(0)
      .help("Keep this many with the least best_metric as well.");
  f.field("best_metric", best_metric)
      .one_of({"eval_loss", "loss"})
      .help("What keep_best compares; eval_loss is had by checkpoints of steps with a validation.");
  f.field("chunk_bytes", chunk_bytes)
      .at_least(1024)
      .help("Larger shards are stored in pieces of about this size, each with a checksum.");
  f.field("zstd_level", zstd_level)
      .range(0, 19)
      .help("Compress by zstd at this level; 0: not. Weights hardly shrink; moments may.");
  f.field("initialize_from", initialize_from)
      .expands_variables()
      .help(
          "Folder of a run or of one checkpoint, or s3://bucket/folder, whose weights this run "
          "begins with.");
  f.section("local", local, "a second, quick place for checkpoints, on each process's own machine");
}

void LocalCheckpointConfig::fields(ConfigFields& f) {
  f.field("directory", directory)
      .expands_variables()
      .help(
          "A folder on each process's own machine, as in /dev/shm, where its shards are kept; "
          "empty: none. A run goes on from the newest checkpoint there or in "
          "checkpoint.directory.");
  f.field("interval", interval).at_least(1).help("Steps between checkpoints there.");
  f.field("keep", keep).at_least(1).help("How many of the newest to keep there.");
  f.field("second_copy", second_copy)
      .help("Keep each shard in the folder of another process as well: one machine may be lost.");
  f.field("address", address)
      .help(
          "By which the other processes reach this one for that; empty: that of the interface "
          "towards the coordinator.");
}

Status LocalCheckpointConfig::validate() const {
  if (!directory.starts_with("s3://")) return absl::OkStatus();
  return invalid_argument("checkpoint.local.directory is ", directory,
                          "; it must be a folder of each process's own machine, such as one in "
                          "/dev/shm: an object store is for checkpoint.directory");
}

void LoggingConfig::fields(ConfigFields& f) {
  f.field("interval", interval)
      .at_least(1)
      .help("Steps between lines on the console; files get every step.");
  f.field("json", json).help("Write metrics.jsonl.");
  f.field("tensorboard", tensorboard).help("Write TensorBoard event files.");
  f.field("examples", examples)
      .help("Write which examples each step used: examples/process-*.jsonl, a file a process.");
}

void GuardsConfig::fields(ConfigFields& f) {
  f.choice("transfer", transfer,
           {{"allow", TransferLevel::kAllow},
            {"log", TransferLevel::kLog},
            {"disallow", TransferLevel::kDisallow},
            {"log_explicit", TransferLevel::kLogExplicit},
            {"disallow_explicit", TransferLevel::kDisallowExplicit}})
      .help(
          "Transfers between host and devices in the loop of steps that no call asks for by name: "
          "log them or make them errors; _explicit: all of them.");
  f.field("launch_order", launch_order)
      .help(
          "Check that all processes launch the same programs in the same order, and fail in all of "
          "them, instead of waiting for ever, where they do not.");
  f.field("replica_check_interval", replica_check_interval)
      .at_least(0)
      .help(
          "Steps between comparisons of all weights and moments that several devices hold: an "
          "error names those that differ. 0: none. Each reads them all.");
}

void FaultToleranceConfig::fields(ConfigFields& f) {
  f.field("min_processes", min_processes)
      .range(1, 100'000)
      .help("In a cluster that goes on without the dead: with fewer the run waits for others.");
  f.field("timeout_s", timeout_s)
      .at_least(1)
      .help("Seconds for so many processes to be there, after which the run ends.");
  f.field("max_failures", max_failures)
      .range(1, 1'000'000)
      .help("How often processes may be lost without a step between, before the run ends.");
  f.field("hang_timeout_s", hang_timeout_s)
      .at_least(0)
      .help(
          "Seconds at one place of training after which a process is stuck: it is named, and ended "
          "as if it had died. Longer than a step, a validation batch or a save takes; 0: never.");
  f.field("slow_factor", slow_factor)
      .at_least(1)
      .help("A process that works so many times as long in a step as the median is named.");
}

void PluginConfig::fields(ConfigFields& f) {
  f.field("name", name)
      .not_empty()
      .help("PJRT plugin: cpu, cuda, rocm, tpu, or the path of its library.");
  f.field("devices", devices)
      .range(1, 1'048'576)
      .help(
          "Of all processes together. cpu: how many to make (null: 1 a process). Others: how many "
          "there must be (null: any).");
}

void RunConfig::fields(ConfigFields& f) {
  f.field("output_directory", output_directory)
      .expands_variables()
      .help("Where checkpoints, metrics and the resolved config go.");
  f.choice("task", task, {{"pretrain", Task::kPretrain}, {"sft", Task::kSft}})
      .help("sft: learn what the assistant says in conversations, JSON lines with \"messages\".");
  f.section("model", model, "the network");
  f.section("lora", lora, "low-rank adapters, trained in place of the weights");
  f.section("data", data, "what it learns from");
  mesh.fields(f);
  f.section("optimizer", optimizer, "how gradients become updates");
  f.section("schedule", schedule, "the learning rate");
  f.section("training", training, "steps and batches");
  f.section("checkpoint", checkpoint, "saving and resuming");
  f.section("logging", logging, "metrics");
  f.section("guards", guards, "what is watched while it trains");
  f.section("fault_tolerance", fault_tolerance, "processes that die or get stuck");
  f.section("plugin", plugin, "devices");
  f.field("kernels", kernels)
      .help(
          "CPU code of ours that replaces slow parts of XLA's: auto (all that apply), off, or "
          "names "
          "with commas between them; tessera doctor lists them. Other platforms have none.");
}

OptimizerConfig RunConfig::resolved_optimizer() const {
  OptimizerConfig resolved = optimizer;
  if (lora.rank > 0) resolved.trainable = kAdapterPattern;
  return resolved;
}

Status RunConfig::validate() const {
  RETURN_IF_ERROR(check_kernels(kernels));
  RETURN_IF_ERROR(mesh.validate());
  RETURN_IF_ERROR(resolved_schedule().validate_resolved());
  if (training.sequence_length > model.llama.max_sequence_length.value_or(INT64_MAX)) {
    return invalid_argument("training.sequence_length is ", training.sequence_length,
                            ", and the model is made for at most ",
                            *model.llama.max_sequence_length,
                            " (model.max_sequence_length): use training.sequence_length=",
                            *model.llama.max_sequence_length, " or less");
  }
  if (!checkpoint.keep && (checkpoint.keep_best > 0 || checkpoint.keep_every_steps > 0)) {
    return invalid_argument("checkpoint.",
                            checkpoint.keep_best > 0 ? "keep_best" : "keep_every_steps",
                            " says what to keep besides the newest, but checkpoint.keep is null, "
                            "which keeps all: say how many of the newest, such as "
                            "checkpoint.keep=3");
  }
  if (lora.rank > 0 && checkpoint.initialize_from.empty()) {
    return invalid_argument("lora.rank is ", lora.rank,
                            ", but checkpoint.initialize_from is empty: ",
                            "adapters need the run whose weights they adapt, such as "
                            "checkpoint.initialize_from=runs/base");
  }
  if (lora.rank > 0 && !optimizer.trainable.empty()) {
    return invalid_argument("optimizer.trainable is given with lora.rank ", lora.rank,
                            ", which trains the adapters alone: leave it empty");
  }
  // Slices that the devices or their processes make are known only when these are there.
  const bool knows_slices =
      mesh.num_slices ||
      (plugin.name == "cpu" && mesh.slices_from == MeshConfig::SlicesFrom::kDevice);
  if (!plugin.devices || !knows_slices) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Slices slices, mesh.slices(*plugin.devices));
  ASSIGN_OR_RETURN(const MeshConfig resolved, mesh.resolved(slices));
  ASSIGN_OR_RETURN(const Mesh devices, resolved.mesh(slices));
  return validate_mesh(devices);
}

std::string RunConfig::checkpoint_directory() const {
  const std::string& directory = checkpoint.directory;
  return directory.empty() ? join_path(output_directory, "checkpoints") : directory;
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
    if (name == "activation_batch" && training.gradient_accumulation_steps > 1) {
      parts = training.gradient_accumulation_steps;
      axes.push_back(str_cat("training.gradient_accumulation_steps=", parts));
    }
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
  RETURN_IF_ERROR(validate_ring(training, model.llama, devices));
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
                          data.store.empty() ? "data.mixture" : data.store, " has ", tokens,
                          " tokens: set model.vocab_size=", tokens,
                          " or more, or build a store with fewer");
}

}  // namespace tessera
