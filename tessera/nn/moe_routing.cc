#include "tessera/nn/moe_routing.h"

#include <limits>

#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/indexing.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/shape.h"
#include "tessera/ops/sort.h"

namespace tessera {
namespace {

constexpr double kNoPlace = std::numeric_limits<int32_t>::max();

Value ints(Value x) { return convert(x, DType::kS32); }

// What stands at each assignment's expert in [B,E]: [B,T,K].
Value at_expert(Value values_BE, Value chosen_BTKE) {
  const Value values_B11E = reshape(values_BE, {values_BE.dim(0), 1, 1, values_BE.dim(1)});
  return sum(values_B11E * ints(chosen_BTKE), {-1});
}

}  // namespace

RouterChoice choose_experts(Value logits_BTE, int64_t experts_per_token) {
  const int64_t experts = logits_BTE.dim(-1);
  const Value log_z_BT = logsumexp(logits_BTE, {-1});
  const Value probabilities_BTE = exp(logits_BTE - expand_dims(log_z_BT, -1));
  // The greatest, K times: cheaper than a sort, and it stays split however the tokens are.
  Value left_BTE = probabilities_BTE;
  std::vector<Value> indices, ones;
  for (int64_t k = 0; k < experts_per_token; ++k) {
    indices.push_back(argmax(left_BTE, -1));
    ones.push_back(one_hot(indices.back(), experts, logits_BTE.dtype()));
    left_BTE = select(greater(ones.back(), 0.0), full_like(left_BTE, -1), left_BTE);
  }
  const Value chosen_BTKE = stack(ones, 2);
  const Value picked_BTK = sum(expand_dims(probabilities_BTE, 2) * chosen_BTKE, {-1});
  return {.probabilities_BTE = probabilities_BTE,
          .log_z_BT = log_z_BT,
          .experts_BTK = stack(indices, 2),
          .chosen_BTKE = chosen_BTKE,
          .weights_BTK = picked_BTK / sum(picked_BTK, {-1}, /*keepdims=*/true)};
}

RowQueues queue_by_expert(const RouterChoice& choice, const TokenFacts& tokens, DropPolicy policy) {
  const Dims dims = choice.experts_BTK.dims();
  const Dims flat = {dims[0], dims[1] * dims[2]};
  const int64_t experts = choice.chosen_BTKE.dim(-1);
  Value expert_BTK = choice.experts_BTK;
  Value chosen_BTKE = ints(choice.chosen_BTKE);
  Value text_BT1;
  if (tokens.text_BT.defined()) {
    text_BT1 = expand_dims(tokens.text_BT, -1);
    expert_BTK = select(broadcast_to(text_BT1, dims), expert_BTK, full_like(expert_BTK, experts));
    chosen_BTKE = chosen_BTKE * expand_dims(ints(text_BT1), -1);
  }
  const Value number_BN = iota(expert_BTK.graph(), {DType::kS32, flat}, 1);
  // By expert; by weight, if that is the policy; by place in the sequence, which is the column's
  // unless an order is given. The assignments' numbers go along.
  std::vector<Value> keys = {reshape(expert_BTK, flat)};
  if (policy == DropPolicy::kWeight) keys.push_back(reshape(-choice.weights_BTK, flat));
  if (tokens.order_T.defined()) {
    const Value order_BTK = broadcast_to(expand_dims(tokens.order_T, -1), dims);
    keys.push_back(reshape(order_BTK, flat));
  }
  const int num_keys = static_cast<int>(keys.size());
  keys.push_back(number_BN);
  const Value order_BN = tessera::sort(std::span<const Value>(keys), {.num_keys = num_keys}).back();
  const Value count_BE = sum(chosen_BTKE, {1, 2});
  const Value begin_BE = cumsum(count_BE, 1) - count_BE;
  const Value rank_BTK = reshape(argsort(order_BN), dims);  // the inverse permutation
  Value place_BTK = rank_BTK - at_expert(begin_BE, choice.chosen_BTKE);
  if (tokens.text_BT.defined()) {
    place_BTK = select(broadcast_to(text_BT1, dims), place_BTK, full_like(place_BTK, kNoPlace));
  }
  return {.order_BN = order_BN, .begin_BE = begin_BE, .count_BE = count_BE, .place_BTK = place_BTK};
}

Slots slots_of(const RouterChoice& choice, const RowQueues& queues, Value first, int64_t places,
               int64_t limit) {
  const Dims& dims = queues.count_BE.dims();
  const Value place_BEP = iota(first.graph(), {DType::kS32, {dims[0], dims[1], places}}, 2) + first;
  Value filled_BEP = less(place_BEP, expand_dims(queues.count_BE, -1));
  const Value offset_BTK = queues.place_BTK - first;
  Value placed_BTK = logical_and(greater_equal(offset_BTK, 0), less(offset_BTK, places));
  if (limit > 0) {
    filled_BEP = logical_and(filled_BEP, less(place_BEP, limit));
    placed_BTK = logical_and(placed_BTK, less(queues.place_BTK, limit));
  }
  const Dims slots = {dims[0], dims[1] * places};
  const Value rank_BS = reshape(place_BEP + expand_dims(queues.begin_BE, -1), slots);
  const Value slot_BTK = choice.experts_BTK * places + offset_BTK;
  const Value source_BS = take_along_dim(queues.order_BN, rank_BS, 1, TakeMode::kClip);
  return {.source_BEP = reshape(source_BS, {dims[0], dims[1], places}),
          .filled_BEP = filled_BEP,
          .slot_BTK = select(placed_BTK, slot_BTK, zeros_like(slot_BTK)),
          .placed_BTK = placed_BTK};
}

Value router_sums(const RouterChoice& choice, const RowQueues& queues, Value counted_BT,
                  int64_t capacity) {
  const DType dtype = choice.log_z_BT.dtype();
  const double experts = static_cast<double>(choice.chosen_BTKE.dim(-1));
  const Value counted =
      counted_BT.defined() ? convert(counted_BT, dtype) : ones_like(choice.log_z_BT);
  const Value counted_BT1 = expand_dims(counted, -1);
  const Value tokens_B = maximum(sum(counted, {1}), 1.0);
  const Value chosen_BTKE = choice.chosen_BTKE * expand_dims(counted_BT1, -1);
  const Value load_BE = sum(chosen_BTKE, {1, 2});
  const Value probability_BE = sum(choice.probabilities_BTE * counted_BT1, {1});
  const Value balance_B = sum(load_BE * probability_BE, {1}) * experts / (tokens_B * tokens_B);
  const Value z_B = sum(choice.log_z_BT * choice.log_z_BT * counted, {1}) / tokens_B;
  Value dropped = zeros(load_BE.graph(), {dtype, {}});
  if (capacity > 0) {
    const Value late_BTK = convert(greater_equal(queues.place_BTK, capacity), dtype);
    dropped = sum(late_BTK * counted_BT1);
  }
  return concatenate({stack({sum(balance_B), sum(z_B), dropped}), sum(load_BE, {0})}, 0);
}

}  // namespace tessera
