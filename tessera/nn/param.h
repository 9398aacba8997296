#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/tree.h"
#include "tessera/ir/graph.h"
#include "tessera/nn/kernel_region.h"

namespace tessera {

/// How a parameter begins.
struct Init {
  enum class Kind { kTruncatedNormal, kZeros, kOnes };
  Kind kind = Kind::kTruncatedNormal;
  double stddev = 0.02;  ///< of the normal before it is cut off at two standard deviations

  static Init normal(double stddev) { return {Kind::kTruncatedNormal, stddev}; }
  static Init ones() { return {Kind::kOnes, 0}; }
  static Init zeros() { return {Kind::kZeros, 0}; }
};

/// What is known of a parameter before it has a value. Parameters are f32, layers compute in
/// another dtype if told so; an optimizer's state may be stored in another.
struct ParamSpec {
  Dims dims;
  std::vector<std::string> names;  ///< one a dimension: what the axis rules look up
  Init init;
  DType dtype = DType::kF32;

  Shape shape() const { return {dtype, dims}; }
};

/// A parameter inside a layer: while a program is traced, its value in the compute dtype.
class Param {
 public:
  Param() = default;
  explicit Param(Value value) : value_(value) {}
  /// Undefined while parameters are only declared.
  operator Value() const { return value_; }  // NOLINT: a parameter is used as a value everywhere

 private:
  Value value_;
};

/// Where a layer's constructor asks for its parameters. The same constructor runs in two phases:
/// once to declare them, and in each trace to bind them to values. Paths of child scopes join with
/// dots: "layers.attention.query".
class Scope {
 public:
  /// Declares: every parameter asked for is added to `specs`.
  static Scope declare(Tree<ParamSpec>& specs) { return Scope(&specs, nullptr, DType::kF32); }
  /// Binds: values come from `values`, converted to `compute`. `kernels`: that layers may call.
  static Scope bind(const Tree<Value>& values, DType compute, Kernels kernels = nullptr) {
    Scope scope(nullptr, &values, compute);
    scope.kernels_ = std::move(kernels);
    return scope;
  }

  Scope child(std::string_view name) const;
  /// A scope whose parameters hold `count` layers each, in a new leading dimension named "layers".
  /// Declares only.
  Scope stacked(std::string_view name, int64_t count) const;

  /// `dims` and `names` have one entry a dimension of one layer's parameter. CHECKs that a bound
  /// one has these dims. Where there are values of the same path with kLowRankA and kLowRankB
  /// behind (low_rank.h), their product is added.
  Param param(std::string_view name, Dims dims, std::vector<std::string> names,
              Init init = {}) const;

  bool declares() const { return specs_ != nullptr; }
  DType compute_dtype() const { return compute_; }
  const Kernels& kernels() const { return kernels_; }

 private:
  Scope(Tree<ParamSpec>* specs, const Tree<Value>* values, DType compute)
      : specs_(specs), values_(values), compute_(compute) {}

  Tree<ParamSpec>* specs_;
  const Tree<Value>* values_;
  DType compute_;
  Kernels kernels_;
  std::string path_;
  int64_t stack_ = 0;  // 0: parameters of one layer
};

/// Initial values of parameters, as a function of `seed` and each one's path only: the same on any
/// mesh, and unchanged for a parameter when others come or go. Source of the cut at two standard
/// deviations: the usual practice of large models.
Tree<Value> initial_params(Graph& graph, const Tree<ParamSpec>& specs, uint64_t seed);

/// Elements of all parameters.
int64_t count_params(const Tree<ParamSpec>& specs);

}  // namespace tessera
