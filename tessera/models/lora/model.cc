#include "tessera/models/lora/model.h"

#include <cmath>
#include <regex>

#include "tessera/nn/low_rank.h"
#include "tessera/nn/matrix_view.h"
#include "tessera/ops/elementwise.h"

namespace tessera {
namespace {

// The dimensions `chosen`, and the rank behind or before the last `columns` of them.
ParamSpec thin(const ParamSpec& spec, const std::vector<int>& batch, const std::vector<int>& own,
               bool rank_last, int64_t rank) {
  ParamSpec result;
  const auto add = [&](int dim) {
    result.dims.push_back(spec.dims[dim]);
    result.names.push_back(spec.names[dim]);
  };
  const auto add_rank = [&] {
    result.dims.push_back(rank);
    result.names.push_back("");  // small: the same on every device
  };
  for (int dim : batch) add(dim);
  if (!rank_last) add_rank();
  for (int dim : own) add(dim);
  if (rank_last) add_rank();
  return result;
}

}  // namespace

bool is_adapter(std::string_view path) {
  return path.ends_with(kLowRankA) || path.ends_with(kLowRankB);
}

LoraModel::LoraModel(std::unique_ptr<LanguageModel> base, const LoraOptions& options)
    : base_(std::move(base)), options_(options) {
  const std::regex targets(options.targets);
  for (const auto& [path, spec] : base_->params()) {
    const MatrixView view = matrix_view(spec);
    if (!view.is_matrix() || !std::regex_search(path, targets)) continue;
    ParamSpec a = thin(spec, view.batch, view.rows, /*rank_last=*/true, options.rank);
    a.init = Init::normal(1 / std::sqrt(static_cast<double>(view.row_count)));
    ParamSpec b = thin(spec, view.batch, view.columns, /*rank_last=*/false, options.rank);
    b.init = Init::zeros();
    CHECK(adapters_.add(str_cat(path, kLowRankA), std::move(a)).ok());
    CHECK(adapters_.add(str_cat(path, kLowRankB), std::move(b)).ok());
  }
}

Result<std::unique_ptr<LoraModel>> LoraModel::create(std::unique_ptr<LanguageModel> base,
                                                     const LoraOptions& options) {
  std::unique_ptr<LoraModel> model(new LoraModel(std::move(base), options));
  if (!model->adapters_.empty()) return model;
  const Tree<ParamSpec> params = model->base_->params();
  return invalid_argument("lora.targets is \"", options.targets,
                          "\", which no matrix's name matches: there are such as ", params[0].first,
                          " and ", params[params.size() / 2].first);
}

Tree<ParamSpec> LoraModel::params() const {
  Tree<ParamSpec> params = base_->params();
  for (const auto& [path, spec] : adapters_) CHECK(params.add(path, spec).ok());
  return params;
}

ModelOutput LoraModel::forward(const Tree<Value>& params, const DecoderInputs& inputs,
                               const ComputeOptions& options) const {
  const Tree<Value> scaled = params.map([&](const std::string& path, Value value) {
    return path.ends_with(kLowRankB) ? value * scale() : value;
  });
  return base_->forward(scaled, inputs, options);
}

Tree<Value> LoraModel::merged(const Tree<Value>& params) const {
  Tree<Value> merged;
  for (const auto& [path, spec] : base_->params()) {
    Value value = params.at(path);
    if (const Value* a = params.find(str_cat(path, kLowRankA)))
      value = with_low_rank(value, *a, params.at(str_cat(path, kLowRankB)) * scale(), spec);
    CHECK(merged.add(path, value).ok());
  }
  return merged;
}

}  // namespace tessera
