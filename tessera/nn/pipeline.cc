#include "tessera/nn/pipeline.h"

#include <functional>

#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/indexing.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/shape.h"
#include "tessera/ops/sharding_ops.h"

namespace tessera {
namespace {

using Values = std::vector<Value>;
using Args = std::span<const Value>;

constexpr const char* kAxis = "stage";

/// What a loop over a pipeline's steps counts by.
struct Schedule {
  Mesh mesh;
  int64_t stages, microbatches, repeats;

  int64_t steps() const { return microbatches * repeats + stages - 1; }
  std::vector<std::pair<int64_t, int64_t>> ring() const {
    std::vector<std::pair<int64_t, int64_t>> pairs;
    for (int64_t i = 0; i < stages; ++i) pairs.push_back({i, (i + 1) % stages});
    return pairs;
  }
};

// [B,..] → [M,B/M,..]: row b is row b / M of microbatch b mod M.
Value cut_rows(Value x, int64_t microbatches) {
  Dims dims = x.dims();
  dims[0] /= microbatches;
  dims.insert(dims.begin() + 1, microbatches);
  return swap_dims(reshape(x, dims), 0, 1);
}

Value join_rows(Value x) {
  Dims dims(x.dims().begin() + 1, x.dims().end());
  dims[0] *= x.dim(0);
  return reshape(swap_dims(x, 0, 1), dims);
}

Value lookup(Graph& graph, const std::vector<int64_t>& table, Value index) {
  const std::vector<int32_t> entries(table.begin(), table.end());
  const Dims dims = {static_cast<int64_t>(entries.size())};
  return dynamic_index(constant(graph, HostArray::from<int32_t>(DType::kS32, dims,
                                                                std::span<const int32_t>(entries))),
                       index);
}

// A stage's stored layers [R·l,..] → those that it runs, by repeat: [R,l,..].
Value exchange_chunks(Value stored, Value stage, const Schedule& schedule) {
  Dims dims = stored.dims();
  dims[0] /= schedule.repeats;
  dims.insert(dims.begin(), schedule.repeats);
  const Value chunks = reshape(stored, dims);
  Value run = zeros_like(chunks);
  for (const ChunkRound& round : chunk_rounds(schedule.stages, schedule.repeats)) {
    std::vector<std::pair<int64_t, int64_t>> pairs;
    for (int64_t s = 0; s < schedule.stages; ++s) pairs.push_back({s, round.target[s]});
    Graph& graph = stage.graph();
    const Value chunk = dynamic_slice_in_dim(chunks, lookup(graph, round.sent, stage), 1, 0);
    run = dynamic_update_slice_in_dim(run, ppermute(chunk, schedule.mesh, kAxis, pairs),
                                      lookup(graph, round.slot, stage), 0);
  }
  return run;
}

/// One stage's work.
class Stage {
 public:
  using RunChunk = std::function<LayerOutput(Args params, Value x, Args rows)>;

  Stage(const Schedule& schedule, RunChunk run_chunk)
      : schedule_(schedule), run_chunk_(std::move(run_chunk)) {}

  // The stage's stored parameters, the stream [M,B/M,..] and what goes with its rows → the stage's
  // share of the result's microbatches and, perhaps, the sums of all stages.
  Values operator()(Args stored, Value stream, Args rows) const {
    const Value stage = axis_index(stream, schedule_.mesh, kAxis);
    Values params(stored.begin(), stored.end());
    if (schedule_.repeats > 1) {
      for (Value& param : params) param = exchange_chunks(param, stage, schedule_);
    }
    const Value first = equal(stage, 0.0);
    const Value nothing = zeros_like(dynamic_index(stream, stage));
    const Value steps = iota(stream.graph(), Shape{DType::kS32, {schedule_.steps()}}, 0);
    const ScanBody body = [&](Args carry, Args now) -> ScanStep {
      const Value streams = store(carry[0], carry[1], now[0]);
      return step(streams, carry[1], now[0] - stage, first, {params, rows});
    };
    const Values init = {stream, nothing};
    const ScanStep all = scan(body, init, std::span(&steps, 1));
    const Value last = full(stream.graph(), Shape{DType::kS32, {}}, schedule_.steps());
    const Value results = select(first, store(all.carry[0], all.carry[1], last), 0.0);
    Values out = {psum_scatter(results, schedule_.mesh, kAxis, 0)};
    if (!all.ys.empty()) out.push_back(psum(sum(all.ys[0], {0}), schedule_.mesh, {kAxis}));
    return out;
  }

 private:
  struct Inputs {
    const Values& params;
    Args rows;
  };

  // Puts what has come round, at the first stage, in its microbatch's place: at step t that is the
  // last stage's result of the step before. Other stages never look at these places.
  Value store(Value streams, Value arrived, Value now) const {
    const Value came = now - static_cast<double>(schedule_.stages);
    const Value place = remainder(maximum(came, 0.0), static_cast<double>(schedule_.microbatches));
    const Value kept = select(greater_equal(came, 0.0), expand_dims(arrived, 0),
                              dynamic_slice_in_dim(streams, place, 1, 0));
    return dynamic_update_slice_in_dim(streams, kept, place, 0);
  }

  // Before a stage's first microbatch and after its last it works on whatever is there: zeros or
  // results that nobody looks at. Their sums do not count.
  ScanStep step(Value streams, Value arrived, Value turn, Value first, const Inputs& inputs) const {
    const double turns = static_cast<double>(schedule_.microbatches * schedule_.repeats);
    const Value at = minimum(maximum(turn, 0.0), turns - 1);
    const Value microbatch = remainder(at, static_cast<double>(schedule_.microbatches));
    const Value repeat = at / static_cast<double>(schedule_.microbatches);
    const Value x = select(first, dynamic_index(streams, microbatch), arrived);
    Values params, rows;
    for (Value param : inputs.params)
      params.push_back(schedule_.repeats > 1 ? dynamic_index(param, repeat) : param);
    for (Value row : inputs.rows) rows.push_back(dynamic_index(row, microbatch));
    const LayerOutput output = run_chunk_(params, x, rows);
    ScanStep result{.carry = {streams, ppermute(output.x, schedule_.mesh, kAxis, schedule_.ring())},
                    .ys = {}};
    if (output.sums.defined()) {
      const Value counts = logical_and(greater_equal(turn, 0.0), less(turn, turns));
      result.ys.push_back(select(counts, output.sums, 0.0));
    }
    return result;
  }

  const Schedule& schedule_;
  RunChunk run_chunk_;
};

void require_divisible(int64_t size, int64_t parts, const char* what, const char* by) {
  if (size % parts != 0)
    fail("[run_pipeline] ", size, " ", what, " cannot be cut into ", parts, " equal parts (", by,
         ")");
}

// Perfect matchings of stages that send with stages that receive, one a round: the chunks that are
// left always have some, since each stage has as many to send as to receive.
class Matching {
 public:
  Matching(int64_t stages, int64_t repeats) : stages_(stages), left_(stages) {
    for (int64_t s = 0; s < stages; ++s) {
      for (int64_t j = 0; j < repeats; ++j) left_[s].push_back(s * repeats + j);
    }
  }

  // For each receiver the chunk that it gets in this round; they are no longer left.
  std::vector<int64_t> next() {
    std::vector<int64_t> got(stages_, -1);
    for (int64_t s = 0; s < stages_; ++s) {
      std::vector<bool> seen(stages_);
      CHECK(place(s, got, seen));
    }
    for (auto& chunks : left_)
      std::erase_if(chunks, [&](int64_t c) { return got[c % stages_] == c; });
    return got;
  }

 private:
  // Finds a receiver for sender s, moving other senders' chunks to other receivers where needed.
  bool place(int64_t s, std::vector<int64_t>& got, std::vector<bool>& seen) {
    for (int64_t chunk : left_[s]) {
      const int64_t receiver = chunk % stages_;
      if (seen[receiver]) continue;
      seen[receiver] = true;
      const int64_t before = got[receiver];
      if (before >= 0 && !place(sender_of(before), got, seen)) continue;
      got[receiver] = chunk;
      return true;
    }
    return false;
  }
  int64_t sender_of(int64_t chunk) const {
    for (int64_t s = 0; s < stages_; ++s) {
      for (int64_t c : left_[s]) {
        if (c == chunk) return s;
      }
    }
    return -1;
  }

  int64_t stages_;
  std::vector<std::vector<int64_t>> left_;  // by sender
};

}  // namespace

std::vector<ChunkRound> chunk_rounds(int64_t stages, int64_t repeats) {
  Matching matching(stages, repeats);
  std::vector<ChunkRound> rounds;
  for (int64_t r = 0; r < repeats; ++r) {
    ChunkRound round{std::vector<int64_t>(stages), std::vector<int64_t>(stages),
                     std::vector<int64_t>(stages)};
    for (int64_t chunk : matching.next()) {
      const int64_t sender = chunk / repeats, receiver = chunk % stages;
      round.sent[sender] = chunk % repeats;
      round.target[sender] = receiver;
      round.slot[receiver] = chunk / stages;
    }
    rounds.push_back(std::move(round));
  }
  return rounds;
}

double pipeline_bubble(int64_t stages, int64_t microbatches, int64_t repeats) {
  return static_cast<double>(stages - 1) / static_cast<double>(repeats * microbatches + stages - 1);
}

LayerOutput run_pipeline(const Tree<Value>& stacked, const StackInput& input, const LayerFn& layer,
                         const StackOptions& options) {
  const PipelineOptions& pipeline = *options.pipeline;
  const Schedule schedule{.mesh = pipeline.mesh,
                          .stages = pipeline.mesh.axis_size(kAxis),
                          .microbatches = pipeline.microbatches,
                          .repeats = pipeline.repeats};
  require_divisible(schedule.microbatches, schedule.stages, "microbatches", "stages");
  require_divisible(input.x.dim(0), schedule.microbatches, "rows", "microbatches");
  const PartitionSpec by_stage{{{kAxis}}};
  Values args;
  ManualOptions region{.mesh = schedule.mesh, .in = {}, .out = {by_stage}, .axes = {kAxis}};
  for (const auto& [path, value] : stacked) {
    require_divisible(value.dim(0), schedule.stages * schedule.repeats, "layers",
                      "stages x repeats");
    args.push_back(value);
    region.in.push_back(by_stage);
  }
  const size_t params = args.size();
  args.push_back(cut_rows(input.x, schedule.microbatches));
  for (Value row : input.rows) args.push_back(cut_rows(row, schedule.microbatches));
  region.in.resize(args.size());

  StackOptions inside = options;
  inside.pipeline.reset();
  bool has_sums = false;
  const Stage stage(schedule, [&](Args values, Value x, Args rows) {
    size_t i = 0;
    const Tree<Value> chunk = stacked.map([&](const std::string&, Value) { return values[i++]; });
    LayerOutput output = run_layers(chunk, {x, {rows.begin(), rows.end()}}, layer, inside);
    if (output.sums.defined() && !has_sums) {
      has_sums = true;
      region.out.push_back({});
    }
    return output;
  });
  const Values results = manual_region(region, args, [&](Args local) {
    return stage(local.first(params), local[params], local.subspan(params + 1));
  });
  return {join_rows(results[0]), has_sums ? results[1] : Value()};
}

}  // namespace tessera
