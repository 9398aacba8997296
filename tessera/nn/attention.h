#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tessera/nn/layers.h"
#include "tessera/sharding/mesh.h"
#include "tessera/sharding/partition_spec.h"

namespace tessera {

// Shapes: B batch, T query positions, S key positions, H query heads, K key heads, G = H / K, C
// head width.

/// What attention knows of a batch of sequences besides queries, keys and values.
struct SequenceContext {
  RotaryTables rotary;
  /// s32[B,T]: a position sees only those of its own segment; undefined: all are one segment.
  Value segment_ids_BT = {};
  /// s32[T]: each column's place in the sequence; a position sees those whose place is not after
  /// its own. Undefined: 0, 1, 2, ...
  Value order_T = {};

  /// The values that have a row for each row of the batch, for whoever cuts the batch.
  std::vector<Value> rows() const;
  /// The same with other values in their places.
  SequenceContext with_rows(std::span<const Value> rows) const;
};

/// What a model does to scores besides causality.
struct ScoreRule {
  /// A position sees itself and those fewer than so many before it; 0: all before it. Source: Jiang
  /// et al., Mistral 7B, 2023.
  int64_t window = 0;
  /// Above 0: scores become cap · tanh(score / cap). Source: Gemma Team, Gemma 2, 2024.
  double soft_cap = 0;

  bool is_plain() const { return window == 0 && soft_cap == 0; }
};

/// How attention reaches the keys of a sequence that is split over the mesh axis "context".
enum class ContextStrategy {
  kAllGather,  ///< every device gathers all keys and values
  kRing        ///< keys and values go round: no device ever holds more than two parts of them
};

struct AttentionOptions {
  ContextStrategy strategy = ContextStrategy::kAllGather;
  /// The sequence stands in the order of balance_causal_order().
  bool load_balanced = false;
  /// What the program is traced for; a ring needs to know it.
  std::optional<Mesh> mesh = {};
  AxisRules rules = {};
  /// Mesh axes that are manual where the attention stands.
  std::vector<std::string> manual_axes = {};
  /// Whether the kernel "attention" computes it, where it can (fused_attention.h), and with how
  /// many threads a call.
  bool fused = false;
  int kernel_threads = 1;

  /// Whether keys and values go round: there is a mesh, whose "context" axis is larger than one.
  bool is_ring() const;
};

/// softmax(q k / sqrt(C)) v where a position sees itself and those before it, as far as `rule`
/// goes, and, with segment ids, only its own segment. Scores and softmax are in f32 (of f64 in
/// f64). q: [B,T,H,C], k and v: [B,S,K,C] with H a multiple of K → [B,T,H,C] in q's dtype.
/// `sequence` says who sees whom; its rotary tables are not looked at.
Value causal_attention(Value q_BTHC, Value k_BSKC, Value v_BSKC,
                       const SequenceContext& sequence = {}, const ScoreRule& rule = {});

/// The same, S = T, with the sequence split over the devices along "context": each begins with its
/// own keys and values and passes what it has to the next, and joins blocks of scores by a running
/// maximum and sum, in f32 (of f64 in f64). What no query sees is not computed: with
/// `load_balanced` half of each block on every device, else the blocks after a device's own. The
/// gradient goes round again and computes the weights again, so memory is linear in T.
/// `options.is_ring()` must hold, `rule` be plain (TraceError), and the order of the columns be 0,
/// 1, 2, ... or, with `load_balanced`, that of balance_causal_order(). Sources: Liu, Zaharia and
/// Abbeel, Ring Attention, 2023; two chunks a device: the context parallelism of Grattafiori et
/// al., The Llama 3 Herd of Models, 2024.
Value ring_attention(Value q_BTHC, Value k_BTKC, Value v_BTKC, Value segment_ids_BT,
                     const AttentionOptions& options, const ScoreRule& rule = {});

/// Reorders dimension `dim` so that n devices, each with its n-th part, have equal shares of causal
/// attention's work: it is cut into 2n chunks, and device i gets chunks i and 2n-1-i. The size must
/// be a multiple of 2n.
Value balance_causal_order(Value x, int64_t devices, int dim);

}  // namespace tessera
