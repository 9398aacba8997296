#pragma once

#include <memory>
#include <string>

#include "tessera/models/language_model.h"

namespace tessera {

struct LoraOptions {
  int64_t rank = 8;     ///< r
  double alpha = 16;    ///< adapters count alpha / r
  std::string targets;  ///< a regular expression, searched in names of matrices
};

/// Matches the names of adapters, and nothing else.
inline constexpr const char* kAdapterPattern = "_lora_[ab]$";
bool is_adapter(std::string_view path);

/// A model whose matrices W [in, out] that match `targets` are W + alpha / r · A B, with further
/// parameters "<path>_lora_a" [in, r] and "<path>_lora_b" [r, out] (of a stack one a layer). A
/// begins normal, B at zero: the model is at first its base. Source: Hu et al., LoRA, 2021.
///
/// The sum is formed in each layer, one layer's at a time: optimizer state and gradients are kept
/// of the adapters alone, but a step's matrix products are about those of full training.
class LoraModel final : public LanguageModel {
 public:
  /// INVALID_ARGUMENT when no matrix matches; the message names some there are.
  static Result<std::unique_ptr<LoraModel>> create(std::unique_ptr<LanguageModel> base,
                                                   const LoraOptions& options);

  const LanguageModel& base() const { return *base_; }
  /// The base's, then the adapters.
  Tree<ParamSpec> params() const override;
  ModelOutput forward(const Tree<Value>& params, const DecoderInputs& inputs,
                      const ComputeOptions& options) const override;
  int64_t vocab_size() const override { return base_->vocab_size(); }
  double step_flop(int64_t batch, int64_t length) const override {
    return base_->step_flop(batch, length);
  }
  std::vector<std::string> metric_names() const override { return base_->metric_names(); }
  std::vector<Value> metrics(Value statistics, int64_t rows) const override {
    return base_->metrics(statistics, rows);
  }
  /// The base's parameters with the adapters added in.
  Tree<Value> merged(const Tree<Value>& params) const;

 private:
  LoraModel(std::unique_ptr<LanguageModel> base, const LoraOptions& options);
  double scale() const { return options_.alpha / static_cast<double>(options_.rank); }

  std::unique_ptr<LanguageModel> base_;
  LoraOptions options_;
  Tree<ParamSpec> adapters_;
};

}  // namespace tessera
