#include "tessera/train/token_store.h"

#include <memory>

#include "absl/strings/str_format.h"
#include "tessera/base/clock.h"
#include "tessera/base/format.h"
#include "tessera/base/log.h"

namespace tessera {

BuildOptions build_options(const DataConfig& config, Task task) {
  BuildOptions options;
  options.corpus.paths = config.corpus;
  options.corpus.text_key = config.text_key;
  options.corpus.skip_bad = config.skip_bad;
  options.corpus.max_document_bytes = config.max_document_bytes;
  if (task == Task::kSft) options.corpus.chat = config.chat_template;
  options.output = config.store;
  options.tokenizer.kind = config.tokenizer.kind;
  options.tokenizer.model_path = config.tokenizer.model;
  options.tokenizer.special = config.tokenizer.special;
  options.tokenizer.vocab_size = static_cast<int32_t>(config.tokenizer.vocab_size);
  return options;
}

namespace {

// ", 1.2 GiB of 3.4 GiB, 5.6 M tokens, 12.3 MiB/s, 180 s left"
std::string progress_text(const BuildProgress& now, const BuildProgress& begin, double seconds) {
  if (now.bytes_total == 0) return "";
  std::string text = str_cat(", ", bytes_text(static_cast<double>(now.bytes_done)), " of ",
                             bytes_text(static_cast<double>(now.bytes_total)));
  if (now.tokens > 0) {
    str_append(&text, ", ", count_text(static_cast<double>(now.tokens)), " tokens of ",
               count_text(static_cast<double>(now.documents)), " documents");
  }
  const auto done = static_cast<double>(now.bytes_done - begin.bytes_done);
  if (seconds < 1 || done <= 0) return text;
  const auto left = static_cast<double>(now.bytes_total - now.bytes_done);
  absl::StrAppendFormat(&text, ", %s/s, %.0f s left", bytes_text(done / seconds),
                        left * seconds / done);
  return text;
}

}  // namespace

BuildProgressCallback log_build_progress() {
  struct State {
    RealClock clock;
    BuildProgress begin;  // the phase's first
    absl::Duration phase_begin, next;
  };
  return [state = std::make_shared<State>()](const BuildProgress& progress) {
    constexpr absl::Duration kBetweenLines = absl::Seconds(5);
    const absl::Duration now = state->clock.elapsed();
    const bool new_phase = progress.phase != state->begin.phase;
    if (!new_phase && now < state->next) return;
    if (new_phase) {
      state->begin = progress;
      state->phase_begin = now;
    }
    state->next = now + kBetweenLines;
    const double seconds = absl::ToDoubleSeconds(now - state->phase_begin);
    log_info("data: ", progress.phase, progress_text(progress, state->begin, seconds));
  };
}

Result<std::shared_ptr<const TokenStore>> open_or_build_store(const DataConfig& config, Task task,
                                                              FileSystem& files) {
  if (config.store.empty()) {
    return invalid_argument(
        "data.store is empty: name the folder of a token store, or one to build it in");
  }
  Result<std::shared_ptr<const TokenStore>> store = TokenStore::open(config.store);
  if (store.ok() || store.status().code() != absl::StatusCode::kNotFound) return store;
  if (config.corpus.empty()) {
    return Status(store.status().code(), str_cat(from_absl(store.status().message()),
                                                 "; or give data.corpus to build it from"));
  }
  log_info("data: building ", config.store, " from ",
           config.corpus.size() == 1 ? config.corpus[0] : "the corpus");
  ASSIGN_OR_RETURN(const BuildSummary summary,
                   build_token_store(files, build_options(config, task), log_build_progress()));
  log_info("data: ", build_summary_text(config.store, summary));
  return TokenStore::open(config.store);
}

Result<std::vector<std::shared_ptr<const TokenStore>>> open_or_build_stores(
    const DataConfig& config, Task task, FileSystem& files) {
  ASSIGN_OR_RETURN(const std::vector<DataSource> sources, config.sources());
  std::vector<std::shared_ptr<const TokenStore>> stores;
  if (config.mixture.empty()) {
    ASSIGN_OR_RETURN(stores.emplace_back(), open_or_build_store(config, task, files));
    return stores;
  }
  std::shared_ptr<const Tokenizer> first;
  for (const DataSource& source : sources) {
    auto store = TokenStore::open(source.store);
    if (absl::IsNotFound(store.status()))
      return not_found("data.mixture.", source.name, ": ", store.status().message(),
                       "; build it by `tessera data build`");
    RETURN_IF_ERROR(annotate(store.status(), str_cat("data.mixture.", source.name)));
    ASSIGN_OR_RETURN(const std::shared_ptr<const Tokenizer> tokenizer, (*store)->tokenizer());
    if (!first) first = tokenizer;
    if (tokenizer->kind() != first->kind() || tokenizer->model() != first->model())
      return failed_precondition("data.mixture: ", source.store, " (", source.name,
                                 ") was built with another tokenizer than ", sources[0].store, " (",
                                 sources[0].name, "): build both with one");
    stores.push_back(*std::move(store));
  }
  return stores;
}

std::string build_summary_text(const std::string& folder, const BuildSummary& summary) {
  const TokenStoreManifest& manifest = summary.manifest;
  const double seconds = summary.tokenizer_seconds + summary.encode_seconds;
  std::string text = absl::StrFormat(
      "built %s: %s tokens of %s documents (%s of text) in %.1f s, vocabulary %d", folder,
      count_text(static_cast<double>(manifest.tokens)),
      count_text(static_cast<double>(manifest.documents)),
      bytes_text(static_cast<double>(manifest.counts.text_bytes)), seconds, manifest.vocab_size);
  if (manifest.counts.invalid_utf8 > 0) {
    absl::StrAppendFormat(&text, "; replaced %s sequences that were not UTF-8",
                          count_text(static_cast<double>(manifest.counts.invalid_utf8)));
  }
  for (const auto& [reason, count] : manifest.counts.skipped) {
    absl::StrAppendFormat(&text, "; skipped %d documents: %s", count, reason);
  }
  if (summary.resumed_bytes > 0) {
    str_append(&text, "; ", bytes_text(static_cast<double>(summary.resumed_bytes)),
               " of the corpus were done before");
  }
  for (const std::string& note : summary.notes) str_append(&text, "\n  skipped ", note);
  return text;
}

}  // namespace tessera
