#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/config.h"
#include "tessera/ckpt/array_spec.h"
#include "tessera/data/chat.h"
#include "tessera/data/huggingface/huggingface.h"
#include "tessera/models/llama/config.h"
#include "tessera/models/mixtral/config.h"
#include "tessera/runtime/transfer_guard.h"
#include "tessera/sharding/loading_plan.h"
#include "tessera/train/mesh_config.h"
#include "tessera/train/optimizer_config.h"
#include "tessera/train/schedule.h"
#include "tessera/train/training_config.h"

/// Everything that a recipe says about a run. Each section is a struct; RunConfig puts them
/// together and checks what concerns several of them, before any device is touched.
namespace tessera {

/// Which network. Its own fields stand beside `family` in the recipe.
struct ModelConfig {
  std::string family = "llama";
  LlamaConfig llama;      ///< The decoder of every family.
  MixtureConfig mixture;  ///< Of mixtral.

  void fields(ConfigFields& f);
  Status validate() const;
};

/// How text becomes tokens when a store is built.
struct TokenizerConfig {
  std::string kind = "sentencepiece";  ///< or "huggingface", or "bytes"
  /// File of a SentencePiece model, empty: train one on the corpus; or of a tokenizer.json.
  std::string model;
  int64_t vocab_size = 8192;  ///< Of a model that is trained.
  SpecialTokenNames special;  ///< Of a tokenizer.json.

  void fields(ConfigFields& f);
};

/// skip_bad, max_document_bytes.
void document_fields(bool& skip_bad, int64_t& max_document_bytes, ConfigFields& f);
/// bos_token, eos_token, pad_token.
void special_token_fields(SpecialTokenNames& names, ConfigFields& f);

/// ChatTemplate as a section of a recipe.
struct ChatTemplateConfig : ChatTemplate {
  void fields(ConfigFields& f);
};

/// What a run learns: all that it reads, or what the assistant says in conversations.
enum class Task { kPretrain, kSft };

/// How documents become rows of one length.
enum class Packing {
  kConcatenate,  ///< back to back, cut where a row is full: PackedExamples
  kFirstFit,     ///< whole where they fit: FirstFitExamples
};

/// A token store that a run learns from.
struct DataSource {
  std::string name;  ///< Empty: the only one.
  std::string store;
  double weight = 1;
  int64_t epochs = 0;  ///< 0: without end.
};

struct DataConfig {
  std::string store;         ///< Folder of the token store.
  ConfigNamedLists mixture;  ///< Instead: name -> store, weight and, if wanted, epochs.
  std::vector<std::string>
      corpus;  ///< Files, folders or patterns that the store is built from where it is missing.
  std::string text_key = "text";     ///< Of JSON lines and Parquet: what holds a document's text.
  bool skip_bad = false;             ///< Leave out, and count, documents that cannot be read.
  int64_t max_document_bytes = 0;    ///< Leave out, and count, longer documents; 0: none.
  ChatTemplateConfig chat_template;  ///< How task sft makes text of conversations.
  TokenizerConfig tokenizer;
  double validation_fraction = 0.02;  ///< Of the documents; they are never trained on.
  Packing packing = Packing::kConcatenate;
  int64_t epochs = 0;  ///< 0: without end.
  bool shuffle = true;
  uint64_t shuffle_seed = 0;
  LoadingStrategy loading =
      LoadingStrategy::kPerProcess;  ///< What each of several processes reads.
  int64_t workers = 1;               ///< Threads that make batches.
  int64_t prefetch = 4;              ///< Batches made ahead, at most.

  void fields(ConfigFields& f);
  Status validate() const;
  /// The stores: those of the mixture, else the one.
  Result<std::vector<DataSource>> sources() const;
};

/// The near tier of a run's checkpoints (local_tier.h).
struct LocalCheckpointConfig {
  std::string directory;  ///< Empty: no such tier.
  int64_t interval = 50;
  int64_t keep = 2;
  bool second_copy = true;
  std::string address;  ///< Empty: that of the interface towards the coordinator.

  bool enabled() const { return !directory.empty(); }
  void fields(ConfigFields& f);
  Status validate() const;
};

struct CheckpointConfig {
  bool enabled = true;
  std::string directory;  ///< Empty: checkpoints/ in the output directory; may be s3://bucket/key.
  int64_t interval = 500;
  std::optional<int64_t> keep;  ///< Null: all.
  int64_t keep_every_steps = 0;
  int64_t keep_best = 0;
  std::string best_metric = "eval_loss";
  bool save_on_start = false;
  bool save_on_end = true;
  bool save_on_stop = true;  ///< SIGINT, SIGTERM, SIGHUP
  bool save_on_error = true;
  bool skip_when_busy = false;
  int64_t chunk_bytes = kDefaultChunkBytes;
  int64_t zstd_level = 0;  ///< 0: not compressed
  std::string
      initialize_from;  ///< A run's folder or a checkpoint's, whose weights a run begins with.
  LocalCheckpointConfig local;

  void fields(ConfigFields& f);
};

struct LoggingConfig {
  int64_t interval = 1;  ///< Steps between console lines; files get every step.
  bool json = true;
  bool tensorboard = true;
  bool examples = false;  ///< Which examples each step used.

  void fields(ConfigFields& f);
};

/// What is watched while a run trains: see runtime/transfer_guard.h and launch_order.h.
struct GuardsConfig {
  TransferLevel transfer = TransferLevel::kDisallow;  ///< Of transfers in the loop of steps.
  bool launch_order = true;                           ///< Of several processes.
  int64_t replica_check_interval = 0;  ///< Steps; 0: never. See runtime/replica_check.h.

  void fields(ConfigFields& f);
};

/// Of a run whose processes may die or get stuck (docs/fault_tolerance.md).
struct FaultToleranceConfig {
  int64_t min_processes = 1;
  double timeout_s = 300;       ///< For that many to be there.
  int64_t max_failures = 10;    ///< Without a step between them.
  double hang_timeout_s = 600;  ///< At one place of the loop of steps; 0: for ever.
  double slow_factor = 1.5;     ///< See SlowProcesses.

  void fields(ConfigFields& f);
};

/// Which devices: a plugin's name or path, and how many.
struct PluginConfig {
  std::string name = "cpu";
  std::optional<int64_t> devices;  ///< Of all processes together. CPU: how many to make (1 a
                                   ///< process unless given). Else how many there must be.

  void fields(ConfigFields& f);
};

/// Low-rank adapters (Hu et al., LoRA, 2021): beside each matrix that matches `targets` two thin
/// ones, which alone are trained.
struct LoraConfig {
  int64_t rank = 0;                             ///< 0: no adapters
  double alpha = 16;                            ///< adapters count alpha / rank
  std::string targets = "attention\\.|mlp\\.";  ///< A regular expression, searched in names.

  void fields(ConfigFields& f);
  Status validate() const;
};

struct RunConfig {
  std::string
      output_directory;  ///< Where checkpoints/, metrics.jsonl, tensorboard/ and config.yaml go.
  Task task = Task::kPretrain;
  ModelConfig model;
  LoraConfig lora;
  DataConfig data;
  MeshConfig mesh;
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  TrainingConfig training;
  CheckpointConfig checkpoint;
  LoggingConfig logging;
  GuardsConfig guards;
  FaultToleranceConfig fault_tolerance;
  PluginConfig plugin;
  std::string kernels = "auto";  ///< See kernels/kernel.h.

  void fields(ConfigFields& f);
  /// What concerns several sections and needs neither data nor devices.
  Status validate() const;
  /// That heads, batch and sequence divide over a mesh of this config's.
  Status validate_mesh(const Mesh& mesh) const;
  /// That a tokenizer of `tokens` tokens fits the model.
  Status validate_vocabulary(int64_t tokens) const;

  /// Where checkpoints go: checkpoint.directory, or else <output_directory>/checkpoints.
  std::string checkpoint_directory() const;
  /// The optimizer's section; with adapters, they alone are trainable.
  OptimizerConfig resolved_optimizer() const;
  ScheduleConfig resolved_schedule() const { return schedule.resolved(training.steps); }
};

}  // namespace tessera
