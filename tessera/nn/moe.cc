#include "tessera/nn/moe.h"

#include <algorithm>
#include <cmath>

#include "tessera/nn/fused_gate.h"
#include "tessera/nn/precision_internal.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/control.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/indexing.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/shape.h"
#include "tessera/ops/sharding_ops.h"

// Shapes as in moe_routing.h; P places of an expert and row, D model width, F width of an expert.

namespace tessera {
namespace {

using Names = std::vector<std::string>;

const Names kTokens = {"activation_batch_moe", "activation_norm_length_moe",
                       "activation_embed_moe"};
// Rows are whole wherever tokens are picked from them.
const Names kRows = {"activation_batch_moe", "", "activation_embed_moe"};
const Names kLogits = {"activation_batch_moe", "", ""};
// Places at the tokens' devices, and at the experts'. Between the two lies the all-to-all.
const Names kAtTokens = {"activation_batch_moe", "", "activation_length_moe",
                         "activation_embed_moe"};
const Names kAtExperts = {"activation_batch_moe", "activation_exp", "activation_length_moe",
                          "activation_embed_moe"};
const Names kExpertInput = {"activation_batch_moe", "activation_exp", "activation_length_moe", ""};
const Names kHidden = {"activation_exp", "activation_batch_moe", "activation_length_moe",
                       "activation_mlp_moe"};
const Names kInward = {"exp", "embed_moe", "mlp_moe"}, kOutward = {"exp", "mlp_moe", "embed_moe"};

// x[b, index[b,..], :]: [B,N,D], s32[B,..] → [B,..,D].
Value rows(Value x_BND, Value index) {
  return gather(x_BND, index,
                {.offset_dims = {index.rank()},
                 .collapsed_dims = {1},
                 .batch_dims = {0},
                 .index_batch_dims = {0},
                 .index_map = {1},
                 .index_vector_dim = index.rank(),
                 .window = {1, 1, x_BND.dim(2)}});
}

// An expert's places in a line: [B,E,P,D] → [B,S,D].
Value in_a_line(Value y_BEPD) {
  const Value whole = constrain(y_BEPD, {"activation_batch_moe", "", "", "activation_embed_moe"});
  return reshape(whole, {y_BEPD.dim(0), y_BEPD.dim(1) * y_BEPD.dim(2), y_BEPD.dim(3)});
}

// sum_k factor_k * y[slot_k], zero where a token has no slot: [B,S,D], s32[B,T,K], [B,T,K] →
// [B,T,D] in the factors' dtype.
Value gather_back(Value y_BSD, Value slot_BTK, Value factor_BTK) {
  const int experts_per_token = static_cast<int>(slot_BTK.dim(2));
  const std::vector<Value> factors = split(factor_BTK, experts_per_token, 2);
  const std::vector<Value> slots = split(slot_BTK, experts_per_token, 2);
  Value total;
  for (int k = 0; k < experts_per_token; ++k) {
    const Value y_BTD = convert(rows(y_BSD, squeeze(slots[k], {2})), factor_BTK.dtype());
    total = k == 0 ? y_BTD * factors[k] : total + y_BTD * factors[k];
  }
  return total;
}

// The slots' tokens: [B,T,D] → [B,E,P,D], zeros in empty slots. An assignment has one slot at most,
// so that the gradient is a lookup too, where that of any lookup would be a scatter.
Value dispatch(Value x_BTD, const Slots& slots) {
  const double experts_per_token = static_cast<double>(slots.slot_BTK.dim(2));
  const Branch forward = [=](std::span<const Value> args) {
    const Value filled_BEP1 = expand_dims(convert(args[2], args[0].dtype()), -1);
    return std::vector{rows(args[0], args[1] / experts_per_token) * filled_BEP1};
  };
  const CustomVjp reverse = [](std::span<const Value> args, std::span<const Value>,
                               std::span<const Value> cotangents) {
    const DType dtype = args[0].dtype();
    const Value dx_BTD =
        gather_back(in_a_line(cotangents[0]), args[3], convert(args[4], wide_dtype(dtype)));
    return std::vector{convert(dx_BTD, dtype), Value(), Value(), Value(), Value()};
  };
  const Value args[] = {x_BTD, slots.source_BEP, slots.filled_BEP, slots.slot_BTK,
                        slots.placed_BTK};
  return custom_gradient(forward, reverse, args)[0];
}

// What the tokens get back: sum_k weight_k * y[slot_k]. [B,E,P,D], [B,T,K] → [B,T,D] in the
// weights' dtype. The gradient is made of lookups, as above.
Value combine(Value y_BEPD, Value weights_BTK, const Slots& slots) {
  const Branch forward = [](std::span<const Value> args) {
    const Value factor_BTK = args[1] * convert(args[3], args[1].dtype());
    return std::vector{gather_back(in_a_line(args[0]), args[2], factor_BTK)};
  };
  const CustomVjp reverse = [](std::span<const Value> args, std::span<const Value>,
                               std::span<const Value> cotangents) {
    const Value y_BEPD = args[0], weights = args[1], source_BEP = args[4];
    const DType wide = weights.dtype();
    const int experts_per_token = static_cast<int>(weights.dim(2));
    const Value dy_BTD = constrain(cotangents[0], kRows);
    // The weight of a slot's assignment.
    const Dims line = {weights.dim(0), weights.dim(1) * weights.dim(2)};
    const Dims slots = {y_BEPD.dim(0), y_BEPD.dim(1) * y_BEPD.dim(2)};
    const Value weight_BS =
        take_along_dim(reshape(weights, line), reshape(source_BEP, slots), 1, TakeMode::kClip);
    const Value weight_BEP = reshape(weight_BS, source_BEP.dims()) * convert(args[5], wide);
    const Value sent_BEPD = rows(dy_BTD, source_BEP / static_cast<double>(experts_per_token));
    const Value y_grad = convert(sent_BEPD * expand_dims(weight_BEP, -1), y_BEPD.dtype());
    const Value y_BSD = in_a_line(y_BEPD);
    std::vector<Value> weight_grads;
    for (Value slot_BT1 : split(args[2], experts_per_token, 2)) {
      const Value y_BTD = convert(rows(y_BSD, squeeze(slot_BT1, {2})), wide);
      weight_grads.push_back(sum(y_BTD * dy_BTD, {-1}));
    }
    const Value weight_grad = stack(weight_grads, 2) * convert(args[3], wide);
    return std::vector{y_grad, weight_grad, Value(), Value(), Value(), Value()};
  };
  const Value args[] = {y_BEPD,           weights_BTK,      slots.slot_BTK,
                        slots.placed_BTK, slots.source_BEP, slots.filled_BEP};
  return custom_gradient(forward, reverse, args)[0];
}

int64_t rounded_up(double places, int64_t length) {
  const int64_t whole = static_cast<int64_t>(std::ceil(places));
  return std::min((whole + 7) / 8 * 8, length);
}

}  // namespace

MoeRounds moe_rounds(const MoeConfig& config, int64_t length) {
  // Found by measuring (docs/models.md): room for the imbalance that is usual, then small steps.
  constexpr double kFirst = 1.25, kNext = 0.5;
  const double balanced =
      static_cast<double>(length * config.experts_per_token) / static_cast<double>(config.experts);
  if (config.capacity_factor) {
    const double capacity = std::ceil(balanced * *config.capacity_factor);
    const int64_t places = std::min(static_cast<int64_t>(capacity), length);
    return {.capacity = places, .first = rounded_up(capacity, length)};
  }
  const int64_t first = rounded_up(balanced * kFirst, length);
  const int64_t next = rounded_up(balanced * kNext, length);
  return {.first = first, .next = next, .most = (length - first + next - 1) / next};
}

Moe::Moe(const Scope& scope, const MoeConfig& c)
    : config_(c),
      router_(scope.child("router").param("kernel", {c.embed, c.experts}, {"embed", ""}, c.init)),
      gate_(scope.child("gate").param("kernel", {c.experts, c.embed, c.mlp}, kInward, c.init)),
      up_(scope.child("up").param("kernel", {c.experts, c.embed, c.mlp}, kInward, c.init)),
      down_(scope.child("down").param("kernel", {c.experts, c.mlp, c.embed}, kOutward,
                                      c.output_init)),
      kernels_(scope.kernels()) {}

struct Moe::Routed {
  Value x_BTD;
  RouterChoice choice;
  RowQueues queues;
  Value gate_EDF, up_EDF, down_EFD;
  int64_t capacity = 0;

  // The same, seen from a body of a loop or condition and laid out there again: the partitioner
  // would make values that cross such a border whole, gradients on their way out too.
  Routed inside(Graph& graph) const {
    const auto pinned = [&](Value x, const Names& names) {
      return constrain(graph.import(x), names);
    };
    Routed routed = *this;
    routed.x_BTD = pinned(x_BTD, kRows);
    routed.choice.weights_BTK = pinned(choice.weights_BTK, kLogits);
    routed.gate_EDF = pinned(gate_EDF, kInward);
    routed.up_EDF = pinned(up_EDF, kInward);
    routed.down_EFD = pinned(down_EFD, kOutward);
    return routed;
  }
};

Value Moe::run_experts(const Routed& routed, Value x_BEPD) const {
  x_BEPD = constrain(constrain(x_BEPD, kAtTokens), kAtExperts);
  x_BEPD = constrain(x_BEPD, kExpertInput);
  const Value hidden_EBPF =
      gated(x_BEPD, routed.gate_EDF, routed.up_EDF,
            {"bepd,edf->ebpf", "bepd,edcf->ebpcf", kHidden, config_.activation, kernels_});
  const Value y_BEPD = checkpoint_name(
      einsum("ebpf,efd->bepd", {constrain(hidden_EBPF, kHidden), routed.down_EFD}), "mlpwo");
  return constrain(constrain(y_BEPD, kAtExperts), kAtTokens);
}

Value Moe::run_round(const Routed& routed, Value first, int64_t places) const {
  const Slots slots = slots_of(routed.choice, routed.queues, first, places, routed.capacity);
  const Value y_BEPD = run_experts(routed, dispatch(routed.x_BTD, slots));
  return constrain(combine(y_BEPD, routed.choice.weights_BTK, slots), kTokens);
}

// A loop over all the rounds that there may be, each of which runs only if a queue reaches it; and
// none of it, nor of its gradient, where no queue reaches the first.
Value Moe::run_further_rounds(const Routed& all, const MoeRounds& rounds) const {
  const Value longest = max(all.queues.count_BE);
  const Shape shape{all.choice.weights_BTK.dtype(), all.x_BTD.dims()};
  const Branch nothing = [&](std::span<const Value> args) {
    return std::vector{constrain(zeros(args[0].graph(), shape), kTokens)};
  };
  const Branch loop = [&](std::span<const Value> args) {
    const Routed routed = all.inside(args[0].graph());
    const Value begins =
        iota(args[0].graph(), {DType::kS32, {rounds.most}}, 0) * static_cast<double>(rounds.next) +
        static_cast<double>(rounds.first);
    const ScanBody body = [&](std::span<const Value> carry, std::span<const Value> begin) {
      const Routed in_loop = routed.inside(begin[0].graph());
      const Branch one = [&](std::span<const Value> inner) {
        return std::vector{run_round(in_loop.inside(inner[0].graph()), inner[0], rounds.next)};
      };
      const Value part = cond(greater(longest, begin[0]), one, nothing, begin)[0];
      return ScanStep{.carry = {carry[0] + constrain(part, kTokens)}, .ys = {}};
    };
    const Value init = constrain(zeros(args[0].graph(), shape), kTokens);
    return scan(body, std::span(&init, 1), std::span(&begins, 1)).carry;
  };
  const Value first = scalar(longest.graph(), DType::kS32, static_cast<double>(rounds.first));
  return constrain(cond(greater(longest, first), loop, nothing, std::span(&first, 1))[0], kTokens);
}

LayerOutput Moe::operator()(Value x_BTD, const TokenFacts& tokens) const {
  const DType wide = wide_dtype(x_BTD.dtype());
  const Value logits_BTE = constrain(matmul(x_BTD, router_, {.dtype = wide}), kLogits);
  const MoeRounds rounds = moe_rounds(config_, x_BTD.dim(1));
  Routed routed{.x_BTD = constrain(x_BTD, kRows),
                .choice = choose_experts(logits_BTE, config_.experts_per_token),
                .queues = {},
                .gate_EDF = gate_,
                .up_EDF = up_,
                .down_EFD = down_,
                .capacity = rounds.capacity};
  routed.queues = queue_by_expert(routed.choice, tokens, config_.drop_policy);
  const Value zero = zeros(x_BTD.graph(), {DType::kS32, {}});
  Value y_BTD = run_round(routed, zero, rounds.first);
  if (rounds.most > 0) y_BTD = y_BTD + run_further_rounds(routed, rounds);
  Value counted_BT = tokens.counted_BT;
  if (tokens.text_BT.defined())
    counted_BT = counted_BT.defined() ? logical_and(counted_BT, tokens.text_BT) : tokens.text_BT;
  return {convert(y_BTD, x_BTD.dtype()),
          router_sums(routed.choice, routed.queues, counted_BT, rounds.capacity)};
}

}  // namespace tessera
