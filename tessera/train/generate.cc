#include "tessera/train/generate.h"

#include "tessera/base/log.h"
#include "tessera/ckpt/manager.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/indexing.h"
#include "tessera/ops/random.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/shape.h"
#include "tessera/ops/sort.h"
#include "tessera/train/compile.h"
#include "tessera/train/initial_weights.h"
#include "tessera/train/state_checkpoint.h"

namespace tessera {
namespace {

constexpr double kNever = -1e30;  // a logit that is not drawn

// f32[V] → s32[]: a draw by temperature among the likeliest top_k.
Value draw(Value logits_V, Value key, const GenerateOptions& options) {
  // Below this, the quotient leaves f32's range before a second token has a chance.
  constexpr double kCold = 1e-6;
  if (options.temperature < kCold) return argmax(logits_V, 0);
  Value logits = logits_V * (1 / options.temperature);
  if (options.top_k > 0 && options.top_k < logits.dim(0)) {
    const Value kept = top_k(logits, options.top_k).values;
    const Value least = slice(kept, {options.top_k - 1}, {options.top_k});
    logits = select(greater_equal(logits, least), logits, kNever);
  }
  return categorical(key, logits);
}

// ("params.*", tokens s32[rows,T], of which the first counts, length s32[], index s32[]) → "token"
// s32[]: the one after the first `length` tokens.
Result<TracedProgram> trace_next_token(const LanguageModel& model, const TrainingConfig& training,
                                       int64_t vocabulary, int64_t rows,
                                       const GenerateOptions& options) {
  TracedProgram program;
  program.arguments = argument_specs("params", model.params());
  program.arguments.push_back({"tokens", Shape{DType::kS32, {rows, training.sequence_length}}, {}});
  program.arguments.push_back(scalar_spec("length", DType::kS32));
  program.arguments.push_back(scalar_spec("index", DType::kS32));
  program.results = {scalar_spec("token", DType::kS32)};
  RETURN_IF_ERROR(trace_into(program, [&](Graph& graph, const Tree<Value>& arguments) {
    const ComputeOptions compute{.dtype = DType::kF32, .stack = {.scan = training.scan_layers}};
    const DecoderInputs inputs{.tokens_BT = arguments.at("tokens")};
    const Value logits_BTV = model.forward(arguments.subtree("params"), inputs, compute).logits_BTV;
    const Value last_TV = squeeze(slice_in_dim(logits_BTV, 0, 0, 1), {0});
    // A model may have more rows than the tokenizer has tokens: those are never drawn.
    const Value logits_V =
        slice_in_dim(dynamic_index(last_TV, arguments.at("length") - 1.0, 0), 0, 0, vocabulary);
    const Value key = fold_in(random_key(graph, options.seed), arguments.at("index"));
    return std::vector<Value>{draw(logits_V, key, options)};
  }));
  return program;
}

Result<Tree<Array>> load_params(Session& session, FileSystem& files, const GenerateOptions& options,
                                int64_t* step) {
  const CheckpointManager manager(files, session.checkpoint_directory());
  Tree<Array> params;
  const auto read = [&](const CheckpointReader& reader) -> Status {
    *step = reader.manifest().step;
    ASSIGN_OR_RETURN(params, load_weights(session, files, reader));
    return absl::OkStatus();
  };
  if (options.step) {
    ASSIGN_OR_RETURN(const auto reader, manager.open(*options.step));
    RETURN_IF_ERROR(read(*reader));
    return params;
  }
  ASSIGN_OR_RETURN(const LatestCheckpoint latest, manager.read_latest(read));
  log_skipped(latest);
  if (latest.step) return params;
  return not_found("no checkpoint in ", manager.directory(),
                   ": train first, with `tessera train` and the same recipe");
}

Result<Array> put_scalar(Session& session, int32_t value) {
  const HostArray host =
      HostArray::from<int32_t>(DType::kS32, {}, std::span<const int32_t>(&value, 1));
  return Array::from_host(*session.runtime, host, NamedSharding::replicated(session.layout.mesh));
}

Result<std::vector<int32_t>> encode_prompt(const Tokenizer& tokenizer,
                                           const GenerateOptions& options, int64_t window) {
  std::vector<int32_t> tokens;
  if (tokenizer.special_tokens().bos >= 0) tokens.push_back(tokenizer.special_tokens().bos);
  RETURN_IF_ERROR(tokenizer.encode(options.prompt, &tokens));
  if (tokens.empty())
    return invalid_argument("the prompt is empty, and the tokenizer has no token to begin with");
  if (static_cast<int64_t>(tokens.size()) >= window) {
    return invalid_argument("the prompt has ", tokens.size(),
                            " tokens; the model's window (training.sequence_length) is ", window);
  }
  return tokens;
}

}  // namespace

Result<Generated> generate(Session& session, const Tokenizer& tokenizer, FileSystem& files,
                           const GenerateOptions& options) {
  const TrainingConfig& training = session.config.training;
  const int64_t window = training.sequence_length;
  // The mesh splits a batch: the text is its first row, and the others, as many as the mesh needs,
  // are not looked at.
  ASSIGN_OR_RETURN(const int64_t rows, batch_shards(session.layout));
  ASSIGN_OR_RETURN(std::vector<int32_t> tokens, encode_prompt(tokenizer, options, window));
  const size_t prompt_tokens = tokens.size();
  Generated result;
  ASSIGN_OR_RETURN(Tree<Array> arguments, load_params(session, files, options, &result.step));
  ASSIGN_OR_RETURN(
      const TracedProgram traced,
      trace_next_token(*session.model, training, tokenizer.vocab_size(), rows, options));
  ASSIGN_OR_RETURN(const CompiledFunction next_token,
                   compile_program(*session.runtime, traced, "next_token", session.layout));
  for (int64_t i = 0; i < options.max_tokens; ++i) {
    const int64_t visible = std::min<int64_t>(static_cast<int64_t>(tokens.size()), window);
    HostArray host(Shape{DType::kS32, {rows, window}});
    std::copy(tokens.end() - visible, tokens.end(), host.as<int32_t>().begin());
    Tree<Array> call_arguments = arguments;
    ASSIGN_OR_RETURN(Array row, Array::from_host(*session.runtime, host,
                                                 NamedSharding::replicated(session.layout.mesh)));
    ASSIGN_OR_RETURN(Array length, put_scalar(session, static_cast<int32_t>(visible)));
    ASSIGN_OR_RETURN(Array index, put_scalar(session, static_cast<int32_t>(i)));
    RETURN_IF_ERROR(call_arguments.add("tokens", std::move(row)));
    RETURN_IF_ERROR(call_arguments.add("length", std::move(length)));
    RETURN_IF_ERROR(call_arguments.add("index", std::move(index)));
    ASSIGN_OR_RETURN(const Tree<Array> results, call(next_token, call_arguments));
    ASSIGN_OR_RETURN(const HostArray token, results.at("token").to_host());
    const int32_t id = token.as<int32_t>()[0];
    if (id == tokenizer.special_tokens().eos) break;
    tokens.push_back(id);
  }
  result.tokens.assign(tokens.begin() + static_cast<int64_t>(prompt_tokens), tokens.end());
  ASSIGN_OR_RETURN(result.text, tokenizer.decode(result.tokens));
  return result;
}

}  // namespace tessera
