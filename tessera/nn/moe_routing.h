#pragma once

#include <cstdint>

#include "tessera/ir/graph.h"

namespace tessera {

// Which experts a token goes to, in which order the tokens stand before an expert, and what the
// router is charged for it.
//
// Shapes: B rows, T positions, E experts, K experts a token, N = T * K assignments (a token's K
// stand together), P places of an expert, S = E * P slots.

/// Tokens that an expert has no place for are left out of it (they keep the residual stream):
enum class DropPolicy {
  kPosition,  ///< the last of a row; what a token gets depends on tokens before it only
  kWeight,    ///< those with the least weight; a later token may push out an earlier one
};

/// What is known of the tokens.
struct TokenFacts {
  Value text_BT = {};     ///< bool: not padding, which is routed nowhere; undefined: all are text
  Value counted_BT = {};  ///< bool: in the router's losses and statistics; undefined: all
  Value order_T = {};     ///< s32: the columns' places in the sequence; undefined: 0, 1, 2, ...
};

/// The router's choice.
struct RouterChoice {
  Value probabilities_BTE;  ///< softmax over the experts
  Value log_z_BT;           ///< its denominator's logarithm
  Value experts_BTK;        ///< s32: the experts of the greatest probabilities
  Value chosen_BTKE;        ///< 1 at the expert, else 0; no gradient
  Value weights_BTK;        ///< the probabilities of the chosen, over their sum
};
/// logits: f32 (or f64). Source: Jiang et al., Mixtral of Experts, 2024.
RouterChoice choose_experts(Value logits_BTE, int64_t experts_per_token);

/// Each row's queues: how many wait before an expert, and where an assignment stands.
struct RowQueues {
  Value order_BN;   ///< s32: the assignments sorted by expert, then by rank; padding last
  Value begin_BE;   ///< s32: where an expert's part of order_BN begins
  Value count_BE;   ///< s32: its length
  Value place_BTK;  ///< s32: place in the expert's queue; int's largest for padding
};
RowQueues queue_by_expert(const RouterChoice& choice, const TokenFacts& tokens, DropPolicy policy);

/// The assignments whose places are in [first, first + places) put into slots expert * places +
/// place - first.
struct Slots {
  Value source_BEP;  ///< s32: the assignment of a slot, any for an empty one
  Value filled_BEP;  ///< bool
  Value slot_BTK;    ///< s32: the slot of an assignment, any if it has none
  Value placed_BTK;  ///< bool: it has one
};
/// first: s32[], of any value; `limit`, if not 0: places from it on stay empty.
Slots slots_of(const RouterChoice& choice, const RowQueues& queues, Value first, int64_t places,
               int64_t limit = 0);

/// Sums over rows (so that batches and their parts add up), one vector: the balance loss, the
/// router's z-loss, how many counted assignments were dropped, and each expert's counted
/// assignments.
///
/// Balance loss of a row: E * sum_e f_e p_e with f_e the share of its tokens that chose e (the
/// shares sum to K), p_e the mean probability; K when balanced. Source: Fedus et al., Switch
/// Transformers, 2021. z-loss of a row: the mean of log(Z)². Source: Zoph et al., ST-MoE, 2022.
/// Means are over the row's counted tokens; a row without any adds nothing.
Value router_sums(const RouterChoice& choice, const RowQueues& queues, Value counted_BT,
                  int64_t capacity);
/// Where router_sums() has what.
inline constexpr int kBalanceSum = 0, kZSum = 1, kDroppedSum = 2, kLoadSums = 3;

}  // namespace tessera
