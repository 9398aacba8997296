#pragma once

#include "tessera/models/language_model.h"
#include "tessera/nn/loss.h"
#include "tessera/train/config.h"

namespace tessera {

struct Layout;

/// How a step is computed. The layout must be known where the mesh changes the program (see
/// step.h); null: it does not.
struct StepContext {
  const TrainingConfig& training;
  const Layout* layout = nullptr;
};

/// The kernels of a layout that layers, the loss and the optimizer may call; null: none.
Kernels kernel_use(const Layout* layout);

/// What a batch gives.
struct BatchGradients {
  Value loss;           ///< f32[]: what is minimised
  Value cross_entropy;  ///< f32[]: nats a token that counts
  Value weight;         ///< f32[]: tokens that count
  Value aux_loss = {};  ///< f32[]: the model's own losses a row; undefined where it has none
  std::vector<Value> metrics = {};  ///< f32[] each: what the model's metric_names() say
  Tree<Value> grads;                ///< of loss by each of the parameters asked for; f32
};

/// The loss of a batch ("tokens", "targets", "mask", and "segment_ids" and "positions" where given)
/// and its gradients by the parameters in `trained`, whose names say how they are laid out.
///
/// The loss is (cross entropy + z · log(Z)²) / W + auxiliary losses / rows, with W the batch's
/// whole weight. As W is known from the mask alone, the loss is a sum over rows, and so is its
/// gradient: with training.gradient_accumulation_steps A, it is taken of A parts of the batch one
/// after the other and is the whole batch's but for rounding, however unevenly tokens count. Part k
/// is rows k, k + A, k + 2A, ...: so each device's part of the batch holds its part of each.
/// `step` is s32[], this update's number: with training.dropout, what is left out depends on it,
/// the seed and the part alone.
BatchGradients batch_gradients(const LanguageModel& model, const Tree<Value>& params,
                               const Tree<ParamSpec>& trained, const Tree<Value>& batch, Value step,
                               const StepContext& context);

/// What a batch's loss is made of, as sums: without gradients, as evaluation computes it.
LossSums batch_loss_sums(const LanguageModel& model, const Tree<Value>& params,
                         const Tree<Value>& batch, const StepContext& context);

}  // namespace tessera
