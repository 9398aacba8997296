#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tessera/base/tree.h"
#include "tessera/nn/param.h"
#include "tessera/train/optimizer_config.h"

namespace tessera {

/// One parameter's part of an update.
struct ParamStep {
  const std::string& path;
  const ParamSpec& spec;
  Value param;               ///< f32
  Value grad;                ///< f32
  std::vector<Value> slots;  ///< f32, in the order of UpdateRule::slots()
  Value count;               ///< f32[]: this update's number, from 1
  Value learning_rate;       ///< f32[]
  double weight_decay = 0;   ///< 0 where the recipe exempts the parameter
  Value raw_grad = {};       ///< what `grad` is made of: as it came,
  Value grad_factor = {};    ///< times this; undefined: 1
  Kernels kernels = {};      ///< that may be called
};

struct ParamNext {
  Value param;
  std::vector<Value> slots;
};

/// What an optimizer keeps of a parameter from step to step.
struct Slot {
  std::string name;  ///< "mu"
  ParamSpec spec;
};

/// How one parameter is updated. Every optimizer is one of these, in a file of its own; what
/// concerns all parameters (clipping, masks, the tree of states) stands in Optimizer.
class UpdateRule {
 public:
  virtual ~UpdateRule() = default;
  virtual std::vector<Slot> slots(const std::string& path, const ParamSpec& spec) const = 0;
  virtual ParamNext update(const ParamStep& step) const = 0;
};

/// Loshchilov and Hutter, Decoupled Weight Decay Regularization, 2019.
std::unique_ptr<UpdateRule> adamw_rule(const OptimizerConfig& config);
/// Chen et al., Symbolic Discovery of Optimization Algorithms, 2023.
std::unique_ptr<UpdateRule> lion_rule(const OptimizerConfig& config);
/// Gradient descent with momentum (Polyak 1964; Nesterov 1983 as Sutskever et al. write it, 2013).
std::unique_ptr<UpdateRule> sgd_rule(const OptimizerConfig& config);
/// Shazeer and Stern, Adafactor, 2018, without its momentum: updates are relative to the
/// parameter's size, and clipped to a root mean square of 1. Each layer of a stack counts for
/// itself.
std::unique_ptr<UpdateRule> adafactor_rule(const OptimizerConfig& config);
/// Jordan et al., Muon, 2024; its updates' size as Liu et al., Muon is Scalable, 2025. adamw_rule
/// for what is no matrix.
std::unique_ptr<UpdateRule> muon_rule(const OptimizerConfig& config);

/// A slot of the parameter's shape and layout, in the dtype that moments are kept in.
Slot moment_slot(std::string name, const ParamSpec& spec, const OptimizerConfig& config);
/// param - learning_rate * (change + weight_decay * param).
Value decayed_update(const ParamStep& step, Value change);

/// An optimizer over a model's trainable parameters. Immutable.
class Optimizer {
 public:
  /// `params` are all of the model's.
  Optimizer(const OptimizerConfig& config, const Tree<ParamSpec>& params);

  /// The parameters that are trained.
  const Tree<ParamSpec>& trainable() const { return trainable_; }
  /// State, all zeros at first: "mu.layers.mlp.up.kernel", laid out as the parameters are.
  Tree<ParamSpec> state() const;

  struct Step {
    Value count;             ///< f32[]: this update's number, from 1
    Value learning_rate;     ///< f32[]
    Value grad_factor = {};  ///< f32[]: that gradients are multiplied by; undefined: 1
    Kernels kernels = {};    ///< that may be called
  };
  struct Next {
    Tree<Value> params;
    Tree<Value> state;
  };
  /// One update; trees with the paths of trainable() and state().
  Next update(const Tree<Value>& params, const Tree<Value>& grads, const Tree<Value>& state,
              const Step& step) const;

 private:
  OptimizerConfig config_;
  Tree<ParamSpec> trainable_;
  std::unique_ptr<UpdateRule> rule_;
};

/// That optimizer.trainable leaves something to train. The message names parameters there are.
Status check_trainable(const OptimizerConfig& config, const Tree<ParamSpec>& params);

/// Euclidean norms of gradients.
struct GradientNorms {
  Value global;  ///< f32[]
  Value each;    ///< f32[n], in the tree's order: where a bad number shows first
};
/// `squares`: f32[n], the sums of their squares; computed here unless given.
GradientNorms gradient_norms(const Tree<Value>& grads, Value squares = {});
/// grads * min(1, clip / norm). Source: Pascanu, Mikolov and Bengio, 2013.
Value clip_factor(Value global_norm, double clip);
Tree<Value> clip_by_global_norm(const Tree<Value>& grads, Value global_norm, double clip);

}  // namespace tessera
