// bench_input [--store FOLDER] [--sequence_length N] [--batch N] [--seconds S] [--workers N]
// [--step_ms M]
//
// How many tokens a second one core turns from a token store into shuffled batches, ready for the
// device. Prints one JSON line. Without --store it makes a store of random tokens in a temporary
// folder; that file is in the page cache then, so the disk is not measured. With --step_ms the
// reader pauses after each batch, as a training step would, and share_below_1_ms says how many of
// its batches were there within a millisecond.

#include <stdlib.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tessera/data/batch_loader.h"
#include "tessera/data/packed_examples.h"
#include "tessera/data/permutation.h"
#include "tessera/data/token_store.h"
#include "tessera/data/token_store_writer.h"

namespace tessera {
namespace {

constexpr int64_t kSyntheticTokens = int64_t{1} << 26;

// Document lengths from 16 to 4096 tokens, most of them short, as in web text.
Status write_synthetic_store(const std::string& folder) {
  PosixFileSystem files;
  ASSIGN_OR_RETURN(const auto writer,
                   TokenStoreWriter::create(files, folder, byte_tokenizer(), {}));
  std::vector<int32_t> document;
  for (uint64_t i = 0; writer->tokens() < kSyntheticTokens; ++i) {
    const uint64_t random = mix64(i);
    document.resize(int64_t{16} << (random % 9));
    for (size_t j = 0; j < document.size(); ++j) document[j] = mix64(random + j) % 256;
    RETURN_IF_ERROR(writer->add_document(document));
  }
  return writer->finish({});
}

double cpu_seconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) { return time.tv_sec + 1e-6 * time.tv_usec; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Options {
  std::string store;
  int64_t sequence_length = 1024;
  int64_t batch = 32;
  double seconds = 5;
  int workers = 1;
  double step_ms = 0;
};

Result<Options> parse(int count, char** arguments) {
  std::map<std::string, std::string> values;
  for (int i = 1; i < count; i += 2) {
    if (i + 1 == count) return invalid_argument(std::string(arguments[i]), " needs a value");
    values[arguments[i]] = arguments[i + 1];
  }
  Options options;
  for (const auto& [name, value] : values) {
    if (name == "--store") {
      options.store = value;
    } else if (name == "--sequence_length") {
      options.sequence_length = std::atoll(value.c_str());
    } else if (name == "--batch") {
      options.batch = std::atoll(value.c_str());
    } else if (name == "--seconds") {
      options.seconds = std::atof(value.c_str());
    } else if (name == "--step_ms") {
      options.step_ms = std::atof(value.c_str());
    } else if (name == "--workers") {
      options.workers = std::atoi(value.c_str());
    } else {
      return invalid_argument("no option ", name);
    }
  }
  return options;
}

Result<Json> measure(const Options& options) {
  ASSIGN_OR_RETURN(const auto store, TokenStore::open(options.store));
  ASSIGN_OR_RETURN(const auto examples,
                   PackedExamples::create(store, std::nullopt, options.sequence_length));
  ASSIGN_OR_RETURN(const auto loader, BatchLoader::create(examples, {.batch_size = options.batch,
                                                                     .seed = 1,
                                                                     .workers = options.workers}));
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const double cpu_begin = cpu_seconds();
  double wall = 0;
  int64_t batches = 0;
  std::vector<double> waits;
  for (; wall < options.seconds; ++batches) {
    RETURN_IF_ERROR(loader->next().status());
    waits.push_back(loader->last_wait_ms());
    if (options.step_ms > 0)
      std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(options.step_ms));
    wall = std::chrono::duration<double>(Clock::now() - begin).count();
  }
  const double cpu = cpu_seconds() - cpu_begin;
  std::sort(waits.begin(), waits.end());
  const auto below = std::lower_bound(waits.begin(), waits.end(), 1.0) - waits.begin();
  const double tokens = static_cast<double>(loader->tokens_used());
  return Json{{"bench", "input"},
              {"tokens_per_s_per_core", tokens / cpu},
              {"tokens_per_s", tokens / wall},
              {"wall_s", wall},
              {"cpu_s", cpu},
              {"batches", batches},
              {"step_ms", options.step_ms},
              {"wait_ms_p50", waits[waits.size() / 2]},
              {"wait_ms_p95", waits[waits.size() * 95 / 100]},
              {"share_below_1_ms", static_cast<double>(below) / static_cast<double>(waits.size())},
              {"batch", options.batch},
              {"sequence_length", options.sequence_length},
              {"workers", options.workers},
              {"store_tokens", store->tokens()}};
}

Status run(int count, char** arguments) {
  ASSIGN_OR_RETURN(Options options, parse(count, arguments));
  std::string temporary;
  if (options.store.empty()) {
    temporary = std::filesystem::temp_directory_path() / "bench-input-XXXXXX";
    if (mkdtemp(temporary.data()) == nullptr) return internal_error("mkdtemp failed");
    options.store = temporary + "/store";
    RETURN_IF_ERROR(write_synthetic_store(options.store));
  }
  const Result<Json> line = measure(options);
  if (!temporary.empty()) std::filesystem::remove_all(temporary);
  RETURN_IF_ERROR(line.status());
  std::cout << line->dump() << "\n";
  return {};
}

}  // namespace
}  // namespace tessera

int main(int count, char** arguments) {
  const tessera::Status status = tessera::run(count, arguments);
  if (status.ok()) return 0;
  std::cerr << "bench_input: " << status.message() << "\n";
  return 1;
}
