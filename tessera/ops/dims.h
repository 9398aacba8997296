#pragma once

#include <concepts>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/ir/graph.h"

namespace tessera {

/// Says "every dimension" where a DimList is expected.
struct AllDims {};
inline constexpr AllDims kAllDims;

/// Dimensions as a caller names them: one (`-1`), several (`{0, 2}`), or kAllDims. Negative ones
/// count from the end. `{}` is none at all.
class DimList {
 public:
  DimList(AllDims) : all_(true) {}                            // NOLINT: implicit by design
  DimList(int dim) : dims_{dim} {}                            // NOLINT
  DimList(std::initializer_list<int> dims) : dims_(dims) {}   // NOLINT
  DimList(std::vector<int> dims) : dims_(std::move(dims)) {}  // NOLINT
  template <std::same_as<bool> T>
  DimList(T) = delete;  // sum(x, true) would mean dimension 1

  bool all() const { return all_; }
  const std::vector<int>& dims() const { return dims_; }

 private:
  bool all_ = false;
  std::vector<int> dims_;
};

/// Fails like a shape rule of `op`, with the place where graph building stands: for what a builder
/// must check before there is a node.
template <typename... Args>
[[noreturn]] void fail_at(std::string_view op, Value x, const Args&... args) {
  if (!x.defined()) fail("[", op, "] an operand is undefined");
  const std::string& scope = x.graph().current_scope();
  fail("[", op, "] ", str_cat(args...), "; operand ", to_string(x.shape()),
       scope.empty() ? "" : str_cat(" (", scope, ")"));
}

/// `dim` counted from the front; an error names the range. `rank` may differ from x's: of a result
/// with one more dimension, for example.
int normalize_dim(std::string_view op, Value x, int dim, int rank);
inline int normalize_dim(std::string_view op, Value x, int dim) {
  return normalize_dim(op, x, dim, x.defined() ? x.rank() : 0);
}
/// The same for a list, in the order given; a dimension that is named twice is an error.
Dims normalize_dims(std::string_view op, Value x, const DimList& dims);

}  // namespace tessera
