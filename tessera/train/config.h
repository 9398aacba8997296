#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/config.h"
#include "tessera/models/llama/config.h"
#include "tessera/models/mixtral/config.h"
#include "tessera/nn/attention.h"
#include "tessera/train/mesh_config.h"
#include "tessera/train/schedule.h"

/// Everything that a recipe says about a run. Each section is a struct; RunConfig puts them
/// together and checks what concerns several of them, before any device is touched.
namespace tessera {

/// The element type that a step computes in; weights and moments are f32.
enum class ComputeType { kF32, kBf16 };

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
  std::string kind = "sentencepiece";  ///< or "bytes"
  std::string model;          ///< A SentencePiece model to use; empty: train one on the corpus.
  int64_t vocab_size = 8192;  ///< Of a model that is trained.

  void fields(ConfigFields& f);
};

struct DataConfig {
  std::string store;  ///< Folder of the token store.
  std::vector<std::string>
      corpus;  ///< Files, folders or patterns that the store is built from where it is missing.
  std::string text_key = "text";  ///< Of JSON lines: the key that holds a document's text.
  TokenizerConfig tokenizer;
  double validation_fraction = 0.02;  ///< Of the documents; they are never trained on.
  bool shuffle = true;
  uint64_t shuffle_seed = 0;

  void fields(ConfigFields& f);
};

/// AdamW (Loshchilov and Hutter 2019), with decay only where `no_decay` does not match.
struct OptimizerConfig {
  double b1 = 0.9;
  double b2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;
  std::string no_decay =
      "norm|bias";         ///< A regular expression, searched in the parameter's dotted name.
  double clip_norm = 1.0;  ///< Bound of the gradients' global norm; 0: none.

  void fields(ConfigFields& f);
  Status validate() const;
};

struct TrainingConfig {
  int64_t steps = 1000;
  int64_t batch_size = 8;  ///< Sequences a step, over all devices.
  int64_t sequence_length = 256;
  ComputeType dtype = ComputeType::kBf16;
  bool scan_layers = true;  ///< One loop over the layers; else one program after the other.
  bool remat = false;       ///< Recompute each layer's intermediate results in the reverse pass.
  bool attend_across_documents = false;  ///< Of a packed row: else each sees only itself.
  uint64_t seed = 0;
  ContextStrategy context_parallel_strategy = ContextStrategy::kAllGather;
  bool context_parallel_load_balance = true;
  int64_t pipeline_microbatches = -1;  ///< -1: as many as there are stages
  int64_t pipeline_repeats = 1;        ///< times that a microbatch goes round the stages
  double z_loss = 0;                   ///< Weight of log(Z)² a token.
  int64_t eval_interval = 100;
  int64_t eval_batches = 8;

  void fields(ConfigFields& f);
  int64_t tokens_per_step() const { return batch_size * sequence_length; }
};

struct CheckpointConfig {
  bool enabled = true;
  int64_t interval = 500;
  std::optional<int64_t> keep;  ///< Null: all.

  void fields(ConfigFields& f);
};

struct LoggingConfig {
  int64_t interval = 1;  ///< Steps between console lines; files get every step.
  bool json = true;
  bool tensorboard = true;

  void fields(ConfigFields& f);
};

/// Which devices: a plugin's name or path, and how many.
struct PluginConfig {
  std::string name = "cpu";
  std::optional<int64_t>
      devices;  ///< CPU: how many to make (1 unless given). Else how many there must be.

  void fields(ConfigFields& f);
};

struct RunConfig {
  std::string
      output_directory;  ///< Where checkpoints/, metrics.jsonl, tensorboard/ and config.yaml go.
  ModelConfig model;
  DataConfig data;
  MeshConfig mesh;
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  TrainingConfig training;
  CheckpointConfig checkpoint;
  LoggingConfig logging;
  PluginConfig plugin;

  void fields(ConfigFields& f);
  /// What concerns several sections and needs neither data nor devices.
  Status validate() const;
  /// That heads, batch and sequence divide over a mesh of this config's.
  Status validate_mesh(const Mesh& mesh) const;
  /// That a tokenizer of `tokens` tokens fits the model.
  Status validate_vocabulary(int64_t tokens) const;

  ScheduleConfig resolved_schedule() const { return schedule.resolved(training.steps); }
};

}  // namespace tessera
