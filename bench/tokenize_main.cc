// bench_tokenize [--family gpt2|llama3|qwen2] [--vocab_size N] [--passes N]
//
// How many bytes of text a second one core turns into tokens with a Hugging Face tokenizer, ours
// and the `tokenizers` package, on the quickstart's text. The peer trains the tokenizer on a part
// of that text, so it runs first. Prints one JSON line for each; the median of the passes counts.

#include <stdlib.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/bench.h"
#include "tessera/base/filesystem.h"
#include "tessera/data/corpus.h"
#include "tessera/data/tokenizer.h"

namespace tessera {
namespace {

double cpu_seconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) { return time.tv_sec + 1e-6 * time.tv_usec; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

Result<std::vector<std::string>> read_documents(FileSystem& files) {
  ASSIGN_OR_RETURN(const std::vector<CorpusFile> corpus,
                   find_corpus(files, {.paths = {bench::cache_folder() + "/corpus/python-docs"}}));
  std::vector<std::string> documents;
  for (const CorpusFile& file : corpus) {
    ASSIGN_OR_RETURN(documents.emplace_back(), files.read_file(file.path));
  }
  return documents;
}

Result<Json> measure(const std::string& model_path, const std::string& family, int passes) {
  PosixFileSystem files;
  ASSIGN_OR_RETURN(std::string model, files.read_file(model_path));
  const double load_begin = cpu_seconds();
  ASSIGN_OR_RETURN(const auto tokenizer, make_tokenizer("huggingface", std::move(model)));
  const double load = cpu_seconds() - load_begin;
  ASSIGN_OR_RETURN(const std::vector<std::string> documents, read_documents(files));
  std::vector<double> seconds;
  int64_t bytes = 0, tokens = 0;
  for (int pass = 0; pass < passes; ++pass) {
    bytes = tokens = 0;
    const double begin = cpu_seconds();
    for (const std::string& document : documents) {
      std::vector<int32_t> ids;
      RETURN_IF_ERROR(tokenizer->encode(document, &ids));
      bytes += document.size();
      tokens += ids.size();
    }
    seconds.push_back(cpu_seconds() - begin);
  }
  const double first = seconds[0];
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds[seconds.size() / 2];
  return Json{{"bench", "tokenize"},
              {"peer", "tessera"},
              {"family", family},
              {"vocab_size", tokenizer->vocab_size()},
              {"mb_per_s_per_core", bytes / median / 1e6},
              {"mb_per_s_first_pass", bytes / first / 1e6},
              {"load_s", load},
              {"bytes", bytes},
              {"tokens", tokens},
              {"passes", passes}};
}

Status run(int count, char** arguments) {
  std::map<std::string, std::string> options = {
      {"--family", "gpt2"}, {"--vocab_size", "32000"}, {"--passes", "5"}};
  for (int i = 1; i < count; i += 2) {
    if (i + 1 == count || !options.contains(arguments[i])) {
      return invalid_argument("no option ", std::string(arguments[i]), ", or no value for it");
    }
    options[arguments[i]] = arguments[i + 1];
  }
  std::string folder = std::filesystem::temp_directory_path() / "bench-tokenize-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return internal_error("mkdtemp failed");
  const std::string model = folder + "/tokenizer.json";
  Status status = bench::run_peer("tokenizers_encode.py",
                                  str_cat(options["--family"], " ", options["--vocab_size"], " ",
                                          options["--passes"], " ", model),
                                  "venv-data");
  Result<Json> line = Json();
  if (status.ok()) {
    line = measure(model, options["--family"], std::max(1, std::atoi(options["--passes"].c_str())));
  }
  std::filesystem::remove_all(folder);
  RETURN_IF_ERROR(status);
  RETURN_IF_ERROR(line.status());
  std::cout << line->dump() << "\n";
  return {};
}

}  // namespace
}  // namespace tessera

int main(int count, char** arguments) {
  const tessera::Status status = tessera::run(count, arguments);
  if (status.ok()) return 0;
  std::cerr << "bench_tokenize: " << status.message() << "\n";
  return 1;
}
