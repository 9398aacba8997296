#include "tessera/data/build.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "tessera/base/usage_error.h"
#include "tessera/data/build_progress.h"
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
  if (options.output.empty()) return invalid_argument("no output folder is given");
  const TokenizerOptions& tokenizer = options.tokenizer;
  if (tokenizer.kind == "huggingface") {
    if (tokenizer.model_path.empty()) {
      return invalid_argument(
          "the tokenizer is \"huggingface\", and no model is given: name the file "
          "tokenizer.json that comes with the model");
    }
  } else if (tokenizer.kind != "bytes" && tokenizer.kind != "sentencepiece") {
    return unknown_tokenizer(tokenizer.kind);
  } else if (tokenizer.special != SpecialTokenNames()) {
    return invalid_argument("bos_token, eos_token and pad_token are for the tokenizer ",
                            "\"huggingface\", which this one is not: leave them out");
  }
  if (tokenizer.kind == "bytes" && !tokenizer.model_path.empty()) {
    return invalid_argument("the tokenizer is \"bytes\", which has no model, and the model ",
                            tokenizer.model_path, " is given: leave one of them out");
  }
  if (options.corpus.chat)
    RETURN_IF_ERROR(annotate(options.corpus.chat->validate(), "chat_template"));
  // 256 bytes, 4 special tokens, and some characters.
  if (tokenizer.kind == "sentencepiece" && tokenizer.vocab_size < 300) {
    return invalid_argument("the vocabulary size is ", tokenizer.vocab_size,
                            ", must be at least 300");
  }
  if (tokenizer.training_bytes < 1 || options.threads < 0 ||
      options.corpus.max_document_bytes < 0) {
    return invalid_argument("training bytes, threads and the longest document must be positive");
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
  const std::string config_path = tokenizer_config_path(options);
  if (files.exists(config_path)) {
    ASSIGN_OR_RETURN(config, files.read_file(config_path));
  }
  ASSIGN_OR_RETURN(model, name_special_tokens(std::move(model), config, options.special));
  return load_huggingface(std::move(model));
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
  const std::string& path = options.tokenizer.model_path;
  const bool is_named = from_absl(tokenizer.status().message()).starts_with(path);
  return tokenizer.ok() || is_named ? tokenizer : annotate(tokenizer.status(), path);
}

std::string tokenizer_config_path(const TokenizerOptions& options) {
  return join_path(parent_path(options.model_path), "tokenizer_config.json");
}

namespace {

constexpr size_t kMostNotes = 5;

// One call of build_token_store().
class StoreBuild {
 public:
  StoreBuild(FileSystem& files, const BuildOptions& options, const BuildProgressCallback& progress)
      : files_(files), options_(options), progress_(progress), reporter_(progress) {}

  Result<BuildSummary> run();

 private:
  Status find_files();
  Status begin();
  Status go_on(UnfinishedStore unfinished);
  Status begin_anew();
  Status consume(const EncodedBlock& block);
  Status save_sometimes(const CorpusPosition& position);

  FileSystem& files_;
  const BuildOptions& options_;
  const BuildProgressCallback& progress_;
  Reporter reporter_;
  std::vector<CorpusFile> corpus_;
  BuildSummary summary_;
  TokenStoreWriterOptions store_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::unique_ptr<TokenStoreWriter> writer_;
  BuildPosition done_;
  Clock::time_point saved_ = Clock::now();
};

Status StoreBuild::find_files() {
  ASSIGN_OR_RETURN(corpus_, find_corpus(files_, options_.corpus));
  summary_.files = static_cast<int64_t>(corpus_.size());
  summary_.corpus_bytes = total_bytes(corpus_);
  if (summary_.corpus_bytes > 0) return {};
  return invalid_argument("the corpus is empty: ", summary_.files, " files of 0 bytes, such as ",
                          corpus_.front().path);
}

// Goes on where a build that died stood; begins anew where there is none, or it left too little.
Status StoreBuild::begin() {
  store_ = options_.store;
  store_.loss_mask = options_.corpus.chat.has_value();
  if (options_.save_seconds < 0) return begin_anew();
  ASSIGN_OR_RETURN(store_.key, build_key(files_, options_, corpus_));
  ASSIGN_OR_RETURN(std::optional<UnfinishedStore> unfinished,
                   find_unfinished(files_, options_.output, store_.key));
  if (unfinished.has_value() && go_on(*std::move(unfinished)).ok()) return {};
  return begin_anew();
}

Status StoreBuild::go_on(UnfinishedStore unfinished) {
  ASSIGN_OR_RETURN(done_, parse_build_position(unfinished.progress.note));
  if (options_.tokenizer.kind == "bytes") {
    tokenizer_ = byte_tokenizer();
  } else {
    const std::string path = join_path(unfinished.folder, tokenizer_file(options_.tokenizer.kind));
    ASSIGN_OR_RETURN(std::string model, files_.read_file(path));
    ASSIGN_OR_RETURN(tokenizer_, make_tokenizer(options_.tokenizer.kind, std::move(model)));
  }
  TokenStoreWriterOptions store = store_;
  store.unfinished = std::move(unfinished);
  ASSIGN_OR_RETURN(writer_, TokenStoreWriter::create(files_, options_.output, tokenizer_, store));
  summary_.resumed_bytes = done_.position.bytes_done;
  reporter_.report({"go on", done_.position.bytes_done, summary_.corpus_bytes}, true);
  return {};
}

Status StoreBuild::begin_anew() {
  done_ = {};
  const auto begin = Clock::now();
  ASSIGN_OR_RETURN(tokenizer_, prepare_tokenizer(files_, options_, corpus_, progress_));
  summary_.tokenizer_seconds = seconds_since(begin);
  ASSIGN_OR_RETURN(writer_, TokenStoreWriter::create(files_, options_.output, tokenizer_, store_));
  return store_.key.empty() ? Status() : writer_->save(done_.to_text());  // keeps the tokenizer
}

Status StoreBuild::consume(const EncodedBlock& block) {
  for (size_t i = 0; i < block.documents.size(); ++i) {
    RETURN_IF_ERROR(options_.corpus.chat ? writer_->add_document(block.documents[i], block.masks[i])
                                         : writer_->add_document(block.documents[i]));
  }
  done_.counts.text_bytes += block.counts.text_bytes;
  done_.counts.invalid_utf8 += block.counts.invalid_utf8;
  for (const auto& [reason, count] : block.counts.skipped) done_.counts.skipped[reason] += count;
  for (const std::string& note : block.notes) {
    if (summary_.notes.size() < kMostNotes) summary_.notes.push_back(note);
  }
  done_.position = block.end_position;
  const int64_t bytes_done = done_.position.bytes_done;
  reporter_.report(
      {"encode", bytes_done, summary_.corpus_bytes, writer_->documents(), writer_->tokens()},
      bytes_done == summary_.corpus_bytes);
  return save_sometimes(block.end_position);
}

Status StoreBuild::save_sometimes(const CorpusPosition& position) {
  if (store_.key.empty() || seconds_since(saved_) < options_.save_seconds) return {};
  done_.position = position;
  RETURN_IF_ERROR(writer_->save(done_.to_text()));
  saved_ = Clock::now();
  return {};
}

Result<BuildSummary> StoreBuild::run() {
  RETURN_IF_ERROR(find_files());
  RETURN_IF_ERROR(begin());
  const auto begin = Clock::now();
  CorpusReader reader(files_, corpus_, options_.corpus);
  RETURN_IF_ERROR(reader.seek(done_.position));
  RETURN_IF_ERROR(encode_corpus(reader, options_.corpus, *tokenizer_, thread_count(options_),
                                [&](const EncodedBlock& block) { return consume(block); }));
  RETURN_IF_ERROR(writer_->finish(done_.counts));
  summary_.encode_seconds = seconds_since(begin);
  summary_.manifest = writer_->manifest();
  return std::move(summary_);
}

}  // namespace

Result<BuildSummary> build_token_store(FileSystem& files, const BuildOptions& options,
                                       const BuildProgressCallback& progress) {
  if (const Status valid = validate(options); !valid.ok()) return usage_error(valid);
  // Before minutes of training.
  RETURN_IF_ERROR(check_store_folder(files, options.output, options.store.overwrite));
  return StoreBuild(files, options, progress).run();
}

}  // namespace tessera
