#pragma once

#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tessera/base/tree.h"
#include "tessera/ops/control.h"
#include "tessera/sharding/mesh.h"

namespace tessera {

/// What a layer gives, and what a stack of them gives.
struct LayerOutput {
  Value x;          ///< the residual stream after it
  Value sums = {};  ///< [n], undefined: none. Each a sum over the rows of the batch, such as a
                    ///< loss of the layer's own; over a stack the layers' are added up.

  LayerOutput(Value stream, Value layer_sums = {}) : x(stream), sums(layer_sums) {}  // NOLINT
};
/// What goes into a stack.
struct StackInput {
  Value x;  ///< the residual stream, [B,..]
  /// What layers need beside it that has a row for each row of the stream, [B,..]: a layer must
  /// take it from here, since a pipeline cuts it with the stream. What is the same for all rows a
  /// layer may use from outside.
  std::vector<Value> rows = {};

  StackInput(Value stream, std::vector<Value> row_values = {})  // NOLINT
      : x(stream), rows(std::move(row_values)) {}
};

/// One layer: its own parameters (paths without the stack's prefix), the residual stream and the
/// input's `rows` → the stream after it.
using LayerFn =
    std::function<LayerOutput(const Tree<Value>& params, Value x, std::span<const Value> rows)>;

/// Layers on several devices, one after the other: see pipeline.h.
struct PipelineOptions {
  Mesh mesh;  ///< that the program is traced for, with an axis "stage"
  int64_t microbatches = 1;
  int64_t repeats = 1;
};

struct StackOptions {
  bool scan = true;  ///< one loop over the layers; else their programs one after the other: larger,
                     ///< often faster
  bool remat =
      false;  ///< drop each layer's intermediate results and recompute them in the reverse pass
  RematPolicy policy = save_nothing();           ///< what remat keeps
  std::optional<PipelineOptions> pipeline = {};  ///< takes effect with more than one stage
};

/// Runs the layers whose parameters are stacked in a leading dimension, as Scope::stacked declares
/// them.
LayerOutput run_layers(const Tree<Value>& stacked, const StackInput& input, const LayerFn& layer,
                       const StackOptions& options = {});

}  // namespace tessera
