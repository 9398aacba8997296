#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tessera/nn/attention.h"
#include "tessera/nn/dropout.h"
#include "tessera/nn/param.h"
#include "tessera/nn/stack.h"

namespace tessera {

/// How a model is computed, apart from what it computes.
struct ComputeOptions {
  DType dtype = DType::kF32;  ///< of activations, and of the weights as layers see them
  StackOptions stack;
  AttentionOptions attention = {};
  Kernels kernels = {};  ///< that layers and the loss may call, apart from attention's
  Dropout dropout = {};  ///< of the embedding, and of what each layer adds to the stream
};

struct DecoderInputs {
  Value tokens_BT;          ///< s32
  Value positions_BT = {};  ///< s32; those of order_T unless given
  Value segment_ids_BT =
      {};  ///< s32; attention stays inside a segment; one segment a row unless given; 0 is padding
  Value mask_BT = {};  ///< f32; tokens of weight 0 count in no statistics; all count unless given
  Value order_T = {};  ///< s32: the columns' places in the sequence; 0, 1, 2, ... unless given
};

struct ModelOutput {
  Value logits_BTV;         ///< in the compute dtype
  Value aux_loss_sum = {};  ///< f32[]: the model's own losses, weighted, summed over the batch's
                            ///< rows, so that parts of a batch add up; undefined: it has none
  Value statistics = {};    ///< f32[n]: sums over the batch that metrics() reads; undefined: none
};

/// A decoder that gives each position the logits of the token after it. Immutable; safe to use from
/// several threads.
class LanguageModel {
 public:
  virtual ~LanguageModel() = default;
  /// Its parameters, with the paths they have in states and checkpoints below "params".
  virtual Tree<ParamSpec> params() const = 0;
  virtual ModelOutput forward(const Tree<Value>& params, const DecoderInputs& inputs,
                              const ComputeOptions& options) const = 0;
  virtual int64_t vocab_size() const = 0;
  /// FLOP of a training step on `batch` sequences of `length` tokens, forward and backward, without
  /// recomputation.
  virtual double step_flop(int64_t batch, int64_t length) const = 0;
  /// Figures of a step that the model adds to the loss: their names, and, f32[] each, what they are
  /// in a batch of `rows` sequences, by its statistics.
  virtual std::vector<std::string> metric_names() const { return {}; }
  virtual std::vector<Value> metrics(Value /*statistics*/, int64_t /*rows*/) const { return {}; }
};

}  // namespace tessera
