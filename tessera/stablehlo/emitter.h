#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tessera/base/strings.h"
#include "tessera/ir/op.h"
#include "tessera/ops/sharding_ops.h"
#include "tessera/stablehlo/placements.h"

namespace tessera::stablehlo {

struct ModuleOptions;

/// "tensor<8x256xf32>", "tensor<f32>": a shape as MLIR writes it. Bool is i1, signed integers i32,
/// unsigned ui32.
std::string mlir_type(const Shape& shape);
std::string mlir_type(DType dtype);
/// A literal of the dtype for `dense<...>`: "1.5", "-7", "true", "0x7F800000" for what decimal
/// cannot say.
std::string mlir_literal(DType dtype, double value);
/// "array<i64: 1, 2>".
std::string mlir_i64_array(std::span<const int64_t> values);
/// "[1, 2]".
std::string mlir_list(std::span<const int64_t> values);

/// What custom calls must say of their operands' and of their results' layouts: row-major. Without
/// it XLA may hand over a tensor in whatever order its other uses like.
std::string row_major_layouts(std::span<const Shape> shapes);

/// The node that an emitter prints, with the graph that it stands in.
struct EmitNode {
  const Graph& graph;
  int32_t index;
  const Node& node;

  template <typename T>
  const T& attr() const {
    return node.attr<T>();
  }
  const Shape& operand_shape(int i) const { return graph.shape(node.operands[i]); }
  int operands() const { return static_cast<int>(node.operands.size()); }
  const Shape& result_shape(int i = 0) const { return node.shapes[i]; }
};

/// Writes StableHLO text, line by line. An op's emitter calls it; SSA names are handed out here.
class Emitter {
 public:
  /// `placements`: where values lie, or null where no kernel asks. Both must outlive this.
  explicit Emitter(const ModuleOptions& options, const Placements* placements = nullptr)
      : options_(options), placements_(placements) {}

  const ModuleOptions& options() const { return options_; }

  /// A line at the present indentation.
  template <typename... Args>
  void line(const Args&... args) {
    text_.append(2 * indent_, ' ');
    str_append(&text_, args...);
    text_.push_back('\n');
  }
  void indent() { ++indent_; }
  void dedent() { --indent_; }

  /// A new SSA name: "%12".
  std::string fresh() { return str_cat("%", next_name_++); }
  /// The name under which a value stands: "%3" or "%3#1".
  const std::string& name(const Graph& graph, ValueId id) const;
  /// The name of operand i.
  const std::string& operand(const EmitNode& n, int i) const {
    return name(n.graph, n.node.operands[i]);
  }
  /// "%1, %2, %3": all operands from `first`.
  std::string operand_list(const EmitNode& n, int first = 0) const;
  /// "tensor<f32>, tensor<4xf32>": the types of all operands from `first`, of all results.
  std::string operand_types(const EmitNode& n, int first = 0) const;
  std::string result_types(const EmitNode& n) const;

  /// Names a value. Emitters that print a node's line themselves call it for each output.
  void bind(const Graph& graph, ValueId id, std::string name);
  /// Names all outputs of `n` after a fresh name and returns how the line starts: "%5" or "%5:2".
  std::string bind_results(const EmitNode& n);

  /// `%5 = stablehlo.add %3, %4 : tensor<4xf32>`: for ops whose operands and result all have one
  /// type.
  void same_type_op(const EmitNode& n, std::string_view op);
  /// `%5 = "stablehlo.xyz"(%3, %4) <{attributes}> : (types) -> type`: for all others. `attributes`
  /// may be empty, and there may be no results.
  void generic_op(const EmitNode& n, std::string_view op, std::string_view attributes = "");
  /// A helper value that has no node: emits `%k = <text>` and returns its name. `text` holds op,
  /// operands and type.
  std::string helper(std::string_view text);

  /// The nodes of a body that its outputs need, then `<terminator> %outputs : types`. The body's
  /// parameters must be bound.
  void body(const Graph& graph, std::string_view terminator);
  /// Gives parameters of a region's body the names that operands of `n` have: for what a region
  /// takes from outside as is.
  struct Slice {
    int first_parameter = 0;
    int first_operand = 0;
    int count = 0;
  };
  void bind_parameters(const EmitNode& n, const Graph& body, const Slice& slice);

  /// Only the nodes, without a terminator.
  void nodes(const Graph& graph);
  /// The axes that are manual where the next line stands: along them values are a device's own.
  /// Empty outside manual regions.
  const std::vector<std::string>& manual_axes() const { return manual_axes_; }
  void set_manual_axes(std::vector<std::string> axes) { manual_axes_ = std::move(axes); }
  bool in_manual_region() const { return !manual_axes_.empty(); }
  /// Where a value lies, if that is known.
  Placement placement(const Graph& graph, ValueId id) const {
    return placements_ == nullptr ? std::nullopt : placements_->of(graph, id);
  }
  /// Reduces `value` over the devices along the axes by `reduction` ("stablehlo.add"); its name.
  std::string all_reduce(const std::string& value, const Shape& shape, const CollectiveAttrs& attrs,
                         std::string_view reduction);
  /// A number for a collective's channel, unique in the module.
  int64_t next_channel() { return ++channels_; }

  std::string take() { return std::move(text_); }

 private:
  const ModuleOptions& options_;
  const Placements* placements_;
  std::string text_;
  int indent_ = 0;
  int64_t next_name_ = 0;
  int64_t channels_ = 0;
  std::vector<std::string> manual_axes_;
  // By graph, then node, then output. Bodies are printed once each, so a graph's names are never
  // rebound in between.
  std::unordered_map<const Graph*, std::vector<std::vector<std::string>>> names_;
};

/// Prints a node as a kernel's call, where one of the options' takes it; whether it did.
bool emit_kernel(Emitter& e, const EmitNode& n);

using EmitFn = void (*)(Emitter& e, const EmitNode& n);
/// From op to emitter. One function a family fills it, in its own emit_<family>.cc.
using EmitterTable = std::unordered_map<const OpDef*, EmitFn>;

void add_constant_emitters(EmitterTable& table);
void add_control_emitters(EmitterTable& table);
void add_elementwise_emitters(EmitterTable& table);
void add_indexing_emitters(EmitterTable& table);
void add_linear_emitters(EmitterTable& table);
void add_random_emitters(EmitterTable& table);
void add_reduce_emitters(EmitterTable& table);
void add_shape_emitters(EmitterTable& table);
void add_sharding_emitters(EmitterTable& table);
void add_sort_emitters(EmitterTable& table);

/// All of the above.
const EmitterTable& emitters();

}  // namespace tessera::stablehlo
