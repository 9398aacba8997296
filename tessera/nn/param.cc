#include "tessera/nn/param.h"

#include "tessera/nn/low_rank.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/random.h"
#include "tessera/ops/sharding_ops.h"

namespace tessera {
namespace {

// FNV-1a: a stable number for a name, so that a parameter's random stream depends on its path
// alone.
uint32_t hash_path(std::string_view path) {
  uint32_t hash = 2166136261u;
  for (unsigned char c : path) hash = (hash ^ c) * 16777619u;
  return hash;
}

Value initial_value(Graph& graph, Value key, const std::string& path, const ParamSpec& spec) {
  switch (spec.init.kind) {
    case Init::Kind::kZeros:
      return zeros(graph, spec.shape());
    case Init::Kind::kOnes:
      return ones(graph, spec.shape());
    case Init::Kind::kTruncatedNormal:
      break;
  }
  return truncated_normal(fold_in(key, hash_path(path)), spec.shape()) * spec.init.stddev;
}

}  // namespace

Scope Scope::child(std::string_view name) const {
  Scope scope = *this;
  scope.path_ = path_.empty() ? std::string(name) : str_cat(path_, ".", name);
  return scope;
}

Scope Scope::stacked(std::string_view name, int64_t count) const {
  CHECK(declares());
  Scope scope = child(name);
  scope.stack_ = count;
  return scope;
}

Param Scope::param(std::string_view name, Dims dims, std::vector<std::string> names,
                   Init init) const {
  CHECK(dims.size() == names.size());
  const std::string path = path_.empty() ? std::string(name) : str_cat(path_, ".", name);
  if (!declares()) {
    Value value = values_->at(path);
    if (const Value* a = values_->find(str_cat(path, kLowRankA))) {
      const Value b = values_->at(str_cat(path, kLowRankB));
      value = with_low_rank(value, *a, b, {.dims = dims, .names = names, .init = {}});
    }
    CHECK_MSG(value.dims() == dims,
              str_cat(path, " is ", to_string(value.shape()), ", not ", dims_to_string(dims)));
    // A layer's weight that a loop has just taken from the stack stays in parts until it is used:
    // else the partitioner may gather the whole stack before the loop. In the compute dtype, so
    // that what is gathered is small.
    return Param(constrain(convert(value, compute_), std::move(names)));
  }
  if (stack_ > 0) {
    dims.insert(dims.begin(), stack_);
    names.insert(names.begin(), "layers");
  }
  const Status added = specs_->add(path, ParamSpec{std::move(dims), std::move(names), init});
  CHECK_MSG(added.ok(), std::string(from_absl(added.message())));
  return Param();
}

Tree<Value> initial_params(Graph& graph, const Tree<ParamSpec>& specs, uint64_t seed) {
  const Value key = random_key(graph, seed);
  return specs.map([&](const std::string& path, const ParamSpec& spec) {
    return initial_value(graph, key, path, spec);
  });
}

int64_t count_params(const Tree<ParamSpec>& specs) {
  int64_t count = 0;
  for (const auto& [path, spec] : specs) count += spec.shape().elements();
  return count;
}

}  // namespace tessera
