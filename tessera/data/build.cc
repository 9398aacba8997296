#include "tessera/data/build.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "tessera/data/encode_corpus.h"
#include "tessera/data/sentencepiece.h"
#include "tessera/data/training_lines.h"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

int thread_count(const BuildOptions& options) {
  return options.threads > 0 ? options.threads
                             : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// Passes progress on, but not more often than a person can read it.
class Reporter {
 public:
  explicit Reporter(const BuildProgressCallback& callback) : callback_(callback) {}

  void report(const BuildProgress& progress, bool always) {
    if (!callback_ || (!always && seconds_since(last_) < 0.2)) return;
    last_ = Clock::now();
    callback_(progress);
  }

 private:
  const BuildProgressCallback& callback_;
  Clock::time_point last_;
};

int64_t total_bytes(const std::vector<CorpusFile>& corpus) {
  int64_t total = 0;
  for (const CorpusFile& file : corpus) total += file.size_bytes;
  return total;
}

Status validate(const BuildOptions& options) {
  if (options.output.empty()) return invalid_argument("data build: no output folder is given");
  const TokenizerOptions& tokenizer = options.tokenizer;
  if (tokenizer.kind == "huggingface") {
    if (tokenizer.model_path.empty()) {
      return invalid_argument(
          "data build: the tokenizer is \"huggingface\", and no model is given: name the file "
          "tokenizer.json that comes with the model");
    }
  } else if (tokenizer.kind != "bytes" && tokenizer.kind != "sentencepiece") {
    return annotate(unknown_tokenizer(tokenizer.kind), "data build");
  } else if (tokenizer.special != SpecialTokenNames()) {
    return invalid_argument("data build: bos_token, eos_token and pad_token are for the tokenizer ",
                            "\"huggingface\", which this one is not: leave them out");
  }
  // 256 bytes, 4 special tokens, and some characters.
  if (tokenizer.kind == "sentencepiece" && tokenizer.vocab_size < 300) {
    return invalid_argument("data build: the vocabulary size is ", tokenizer.vocab_size,
                            ", must be at least 300");
  }
  if (tokenizer.training_bytes < 1 || options.threads < 0) {
    return invalid_argument("data build: training bytes and threads must be positive");
  }
  return {};
}

Result<std::shared_ptr<const Tokenizer>> train_tokenizer(FileSystem& files,
                                                         const BuildOptions& options,
                                                         const std::vector<CorpusFile>& corpus,
                                                         Reporter& reporter) {
  TrainingLines lines(files, corpus, options.corpus, options.tokenizer.training_bytes);
  const auto next = [&] {
    const std::optional<std::string_view> line = lines.next();
    if (line.has_value()) {
      reporter.report({"sample", lines.bytes_done(), lines.bytes_total()}, false);
    } else {
      reporter.report({"train tokenizer"}, true);
    }
    return line;
  };
  Result<std::string> model = train_sentencepiece(options.tokenizer.vocab_size, next);
  RETURN_IF_ERROR(lines.status());
  if (!model.ok()) return std::move(model).status();
  return load_sentencepiece(*std::move(model));
}

Result<std::shared_ptr<const Tokenizer>> load_tokenizer(FileSystem& files,
                                                        const TokenizerOptions& options) {
  ASSIGN_OR_RETURN(std::string model, files.read_file(options.model_path));
  const bool is_json = model.starts_with('{');
  if (options.kind != "huggingface") {
    if (!is_json) return load_sentencepiece(std::move(model));
    return invalid_argument("not a SentencePiece model but JSON: for a tokenizer.json the kind of ",
                            "tokenizer is \"huggingface\"");
  }
  std::string config;
  const std::string config_path =
      join_path(parent_path(options.model_path), "tokenizer_config.json");
  if (files.exists(config_path)) {
    ASSIGN_OR_RETURN(config, files.read_file(config_path));
  }
  ASSIGN_OR_RETURN(model, name_special_tokens(std::move(model), config, options.special));
  return load_huggingface(std::move(model));
}

Status check_output(FileSystem& files, const BuildOptions& options) {
  if (options.store.overwrite || !files.exists(options.output)) return {};
  return absl::AlreadyExistsError(str_cat(
      options.output, " is there already: choose another folder, or replace it with --overwrite"));
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> prepare_tokenizer(FileSystem& files,
                                                           const BuildOptions& options,
                                                           const std::vector<CorpusFile>& corpus,
                                                           const BuildProgressCallback& progress) {
  if (options.tokenizer.kind == "bytes") return byte_tokenizer();
  if (options.tokenizer.model_path.empty()) {
    Reporter reporter(progress);
    return train_tokenizer(files, options, corpus, reporter);
  }
  Result<std::shared_ptr<const Tokenizer>> tokenizer = load_tokenizer(files, options.tokenizer);
  if (!tokenizer.ok()) return annotate(tokenizer.status(), options.tokenizer.model_path);
  return tokenizer;
}

Result<BuildSummary> build_token_store(FileSystem& files, const BuildOptions& options,
                                       const BuildProgressCallback& progress) {
  RETURN_IF_ERROR(validate(options));
  RETURN_IF_ERROR(check_output(files, options));  // before minutes of training
  ASSIGN_OR_RETURN(const std::vector<CorpusFile> corpus, find_corpus(files, options.corpus));
  BuildSummary summary = {.files = static_cast<int64_t>(corpus.size()),
                          .corpus_bytes = total_bytes(corpus)};
  if (summary.corpus_bytes == 0) {
    return invalid_argument("the corpus is empty: ", summary.files, " files of 0 bytes, such as ",
                            corpus.front().path);
  }

  auto begin = Clock::now();
  ASSIGN_OR_RETURN(const std::shared_ptr<const Tokenizer> tokenizer,
                   prepare_tokenizer(files, options, corpus, progress));
  summary.tokenizer_seconds = seconds_since(begin);

  begin = Clock::now();
  TokenStoreWriterOptions store = options.store;
  store.loss_mask = options.corpus.chat.has_value();
  ASSIGN_OR_RETURN(const std::unique_ptr<TokenStoreWriter> writer,
                   TokenStoreWriter::create(files, options.output, tokenizer, store));
  Reporter reporter(progress);
  BuildCounts counts;
  BuildProgress now = {.phase = "encode", .bytes_total = summary.corpus_bytes};
  const auto consume = [&](const EncodedBlock& block) -> Status {
    for (size_t i = 0; i < block.documents.size(); ++i) {
      RETURN_IF_ERROR(options.corpus.chat ? writer->add_document(block.documents[i], block.masks[i])
                                          : writer->add_document(block.documents[i]));
    }
    counts.text_bytes += block.counts.text_bytes;
    counts.invalid_utf8 += block.counts.invalid_utf8;
    for (const auto& [reason, count] : block.counts.skipped) counts.skipped[reason] += count;
    now.bytes_done = block.bytes_done;
    now.documents = writer->documents();
    now.tokens = writer->tokens();
    reporter.report(now, block.bytes_done == summary.corpus_bytes);
    return {};
  };
  CorpusReader reader(files, corpus);
  RETURN_IF_ERROR(
      encode_corpus(reader, options.corpus, *tokenizer, thread_count(options), consume));
  RETURN_IF_ERROR(writer->finish(counts));
  summary.encode_seconds = seconds_since(begin);
  summary.manifest = writer->manifest();
  return summary;
}

}  // namespace tessera
