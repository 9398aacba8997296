#include "tessera/train/optimizer_config.h"

#include <regex>

#include "tessera/base/strings.h"

namespace tessera {

Status check_regex(std::string_view key, const std::string& text) {
  constexpr size_t kMostCharacters = 1000;  // std::regex recurses, and would overrun the stack
  if (text.size() > kMostCharacters) {
    return invalid_argument(key, " has ", text.size(), " characters; at most ", kMostCharacters,
                            " are allowed");
  }
  try {
    std::regex expression(text);
  } catch (const std::regex_error& error) {
    return invalid_argument(key, " is \"", text,
                            "\", which is no regular expression: ", error.what());
  }
  return absl::OkStatus();
}

void OptimizerConfig::fields(ConfigFields& f) {
  f.choice("kind", kind,
           {{"adamw", OptimizerKind::kAdamw},
            {"lion", OptimizerKind::kLion},
            {"sgd", OptimizerKind::kSgd},
            {"adafactor", OptimizerKind::kAdafactor},
            {"muon", OptimizerKind::kMuon}})
      .help("How gradients become updates; muon leaves what is no matrix to adamw.");
  f.field("b1", b1).range(0, 0.999999).help("adamw, lion: decay of the gradient's running mean.");
  f.field("b2", b2)
      .range(0, 0.9999999)
      .help(
          "adamw: decay of the squared gradient's running mean (null: 0.95); lion: of the mean "
          "that is kept (null: 0.99).");
  f.field("epsilon", epsilon).above(0).help("adamw: added to the root of the latter.");
  f.field("momentum", momentum)
      .range(0, 0.999999)
      .help(
          "sgd (null: 0.9), muon (null: 0.95): decay of the running gradient; sgd has no state "
          "with 0.");
  f.field("nesterov", nesterov)
      .help("sgd (null: false), muon (null: true): look one gradient ahead.");
  f.field("decay_exponent", decay_exponent)
      .range(0.1, 1)
      .help("adafactor: the squared gradient's decay at step t is 1 - t^-decay_exponent.");
  f.field("min_factored_dim", min_factored_dim)
      .at_least(1)
      .help("adafactor: matrices with fewer rows or columns keep a whole second moment.");
  f.field("newton_schulz_steps", newton_schulz_steps)
      .range(1, 20)
      .help("muon: iterations that make an update orthogonal.");
  f.field("update_rms", update_rms)
      .above(0)
      .help(
          "muon: root mean square of an update before the learning rate, so that adamw's rates "
          "fit; null: sqrt(max(1, columns / rows)) times an orthogonal matrix.");
  f.field("adamw_params", adamw_params)
      .help("muon: regular expression: matrices whose name has a match are updated by adamw.");
  f.choice("moment_dtype", moment_dtype, {{"f32", DType::kF32}, {"bf16", DType::kBF16}})
      .help("What moments are stored in; they are computed in f32.");
  f.field("weight_decay", weight_decay)
      .range(0, 100)
      .help("Decoupled decay, times the learning rate.");
  f.field("no_decay", no_decay)
      .help("Regular expression: parameters whose name has a match are not decayed.");
  f.field("trainable", trainable)
      .help(
          "Regular expression: only parameters whose name has a match are trained; the others "
          "have no optimizer state. Empty: all are.");
  f.field("clip_norm", clip_norm)
      .range(0, 1e9)
      .help("Largest global norm of the gradients; 0: no clipping.");
  f.field("skip_step_on_spikes", skip_step_on_spikes)
      .help("Make no update where the loss or the gradients' norm lies far above the last ones.");
  f.field("spike_interval", spike_interval)
      .range(2, 65536)
      .help(
          "How many of the last steps that is judged by; nothing is skipped before half of them.");
  f.field("spike_factor", spike_factor)
      .above(0)
      .help("How many standard deviations above their mean is far.");
}

Status OptimizerConfig::validate() const {
  RETURN_IF_ERROR(check_regex("no_decay", no_decay));
  RETURN_IF_ERROR(check_regex("trainable", trainable));
  RETURN_IF_ERROR(check_regex("adamw_params", adamw_params));
  const bool has_momentum = kind == OptimizerKind::kSgd || kind == OptimizerKind::kMuon;
  for (const auto& [key, given] :
       {std::pair("momentum", momentum.has_value()), std::pair("nesterov", nesterov.has_value())}) {
    if (!given || has_momentum) continue;
    return invalid_argument(key,
                            " belongs to the kinds sgd and muon: leave it null, or set "
                            "optimizer.kind=sgd");
  }
  // Of a moment that decays more slowly, bf16 would round each step's change away.
  constexpr double kFastestInBf16 = 0.996;
  if (moment_dtype == DType::kBF16 && std::max(b1, resolved_b2()) > kFastestInBf16 &&
      kind != OptimizerKind::kSgd && kind != OptimizerKind::kAdafactor) {
    return invalid_argument(resolved_b2() > kFastestInBf16 ? "b2" : "b1", " is ",
                            resolved_b2() > kFastestInBf16 ? resolved_b2() : b1,
                            " with moment_dtype bf16, which rounds so small a change away: use ",
                            kFastestInBf16, " or less, or moment_dtype=f32");
  }
  if (moment_dtype == DType::kBF16 && kind == OptimizerKind::kAdafactor) {
    return invalid_argument(
        "moment_dtype is bf16 with kind adafactor, whose moments decay ever "
        "more slowly and would stand still: use moment_dtype=f32");
  }
  return absl::OkStatus();
}

}  // namespace tessera
