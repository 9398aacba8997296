#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tessera/base/filesystem.h"
#include "tessera/base/status.h"
#include "tessera/data/corpus.h"
#include "tessera/data/huggingface/huggingface.h"
#include "tessera/data/token_store.h"
#include "tessera/data/token_store_writer.h"
#include "tessera/data/tokenizer.h"

namespace tessera {

struct TokenizerOptions {
  std::string kind = "sentencepiece";  // or "huggingface", or "bytes"
  /// The file of a SentencePiece model to use, empty: train one on the corpus; or of a
  /// tokenizer.json, beside which there may be a tokenizer_config.json.
  std::string model_path;
  SpecialTokenNames special;  // of a tokenizer.json
  int32_t vocab_size = 8192;  // of a model that is trained
  /// Training takes an even sample of the corpus's lines, of about this many bytes.
  int64_t training_bytes = int64_t{64} << 20;
};

struct BuildOptions {
  CorpusOptions corpus;
  std::string output;  // the token store's folder
  TokenizerOptions tokenizer;
  TokenStoreWriterOptions store;
  int threads = 0;  // 0: one a core
  /// What was done is saved so often: a build that is killed goes on from there when it is called
  /// again with the same inputs and options. Negative: never.
  double save_seconds = 5;
};

struct BuildProgress {
  std::string phase;  // "sample", "train tokenizer", "go on", "encode"
  int64_t bytes_done = 0;
  int64_t bytes_total = 0;  // of the corpus; 0: this phase cannot tell
  int64_t documents = 0;
  int64_t tokens = 0;
};

/// Called on the thread that builds, a few times a second at most.
using BuildProgressCallback = std::function<void(const BuildProgress&)>;

struct BuildSummary {
  int64_t files = 0;
  int64_t corpus_bytes = 0;
  TokenStoreManifest manifest;
  double tokenizer_seconds = 0;  // to sample and train, or to load
  double encode_seconds = 0;
  int64_t resumed_bytes = 0;       // of the corpus, that a build before this one had done
  std::vector<std::string> notes;  // of the first documents that could not be read
};

/// Builds the token store of a corpus. The same corpus and options give the same bytes, whatever
/// the number of threads, and however often it was killed and called again. Errors name the file,
/// the line, or the option; the output folder is then as it was before.
Result<BuildSummary> build_token_store(FileSystem& files, const BuildOptions& options,
                                       const BuildProgressCallback& progress);

/// The tokenizer_config.json beside a tokenizer.json, which need not be there.
std::string tokenizer_config_path(const TokenizerOptions& options);

/// The tokenizer that the options ask for: loaded, or trained on the corpus.
Result<std::shared_ptr<const Tokenizer>> prepare_tokenizer(FileSystem& files,
                                                           const BuildOptions& options,
                                                           const std::vector<CorpusFile>& corpus,
                                                           const BuildProgressCallback& progress);

/// What a store holds, as lines of text for people: counts, sizes, tokenizer, skipped documents.
std::string describe_store(const TokenStore& store);
/// One document, its text, and with `pieces` its tokens one by one as well.
Result<std::string> describe_document(const TokenStore& store, int64_t document, bool pieces);

}  // namespace tessera
