#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tessera/base/config.h"
#include "tessera/ir/shape.h"

namespace tessera {

enum class OptimizerKind { kAdamw, kLion, kSgd, kAdafactor, kMuon };

/// How gradients become updates: the recipe's section `optimizer`.
struct OptimizerConfig {
  OptimizerKind kind = OptimizerKind::kAdamw;
  double b1 = 0.9;                         ///< adamw, lion, and what muon leaves to adamw
  std::optional<double> b2;                ///< the same: 0.95 unless given, of lion 0.99
  double epsilon = 1e-8;                   ///< adamw, and what muon leaves to adamw
  std::optional<double> momentum;          ///< sgd (0.9 unless given), muon (0.95)
  std::optional<bool> nesterov;            ///< sgd (false unless given), muon (true)
  double decay_exponent = 0.8;             ///< adafactor
  int64_t min_factored_dim = 128;          ///< adafactor
  int64_t newton_schulz_steps = 5;         ///< muon
  std::optional<double> update_rms = 0.2;  ///< muon
  std::string adamw_params = "^(embedding|head)\\.";  ///< muon: matrices that adamw updates instead
  DType moment_dtype = DType::kF32;                   ///< or kBF16
  double weight_decay = 0.1;
  std::string no_decay =
      "norm|bias";         ///< A regular expression, searched in the parameter's dotted name.
  std::string trainable;   ///< The same; empty: all are.
  double clip_norm = 1.0;  ///< Bound of the gradients' global norm; 0: none.
  bool skip_step_on_spikes = false;
  int64_t spike_interval = 128;
  double spike_factor = 6;

  double resolved_b2() const { return b2.value_or(kind == OptimizerKind::kLion ? 0.99 : 0.95); }
  double resolved_momentum() const {
    return momentum.value_or(kind == OptimizerKind::kMuon ? 0.95 : 0.9);
  }
  bool resolved_nesterov() const { return nesterov.value_or(kind == OptimizerKind::kMuon); }

  void fields(ConfigFields& f);
  Status validate() const;
};

/// That `text`, the value of `key`, is a regular expression that may be searched with.
Status check_regex(std::string_view key, const std::string& text);

}  // namespace tessera
