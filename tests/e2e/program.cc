#include "tests/e2e/program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <utility>

namespace tessera::e2e {
namespace {

constexpr int kMostSeconds = 280;  // a run that hangs ends here, with exit code 137

const char kRecipe[] = R"(output_directory: run
data: {store: tokens, corpus: [corpus], tokenizer: {kind: bytes}, validation_fraction: 0.1}
model: {vocab_size: 320, layers: 2, embed: 32, mlp: 64, heads: 4, kv_heads: 2}
ici_data_parallelism: 1
ici_fsdp_parallelism: 1
plugin: {name: cpu, devices: 1}
training: {steps: 12, batch_size: 8, sequence_length: 32, dtype: f32, eval_interval: 0, eval_batches: 2}
schedule: {learning_rate: 3e-3, warmup_steps: 2}
checkpoint: {interval: 100}
)";

// What a child writes to one pipe, as it comes.
struct Stream {
  int fd;
  std::string text;
  size_t seen = 0;  // of the text, by the line watcher

  bool fill() {
    char buffer[4096];
    const ssize_t count = read(fd, buffer, sizeof buffer);
    if (count > 0) text.append(buffer, static_cast<size_t>(count));
    return count > 0;
  }
  std::optional<std::string> next_line() {
    const size_t end = text.find('\n', seen);
    if (end == std::string::npos) return std::nullopt;
    std::string line = text.substr(seen, end - seen);
    seen = end + 1;
    return line;
  }
};

}  // namespace

void become(const std::string& folder, std::vector<std::string> command, int out, int err) {
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  if (chdir(folder.c_str()) != 0) _exit(126);
  setenv("TESSERA_CACHE", (folder + "/cache").c_str(), /*overwrite=*/1);  // not the user's
  std::vector<char*> argv;
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  _exit(127);
}

std::string program() {
  const char* build = std::getenv("TESSERA_BUILD_DIR");
  // Commands begin elsewhere.
  return std::filesystem::absolute(build ? build : "build/release") / "bin/tessera";
}

Workspace::Workspace() {
  std::string pattern = (std::filesystem::temp_directory_path() / "tessera-e2e-XXXXXX").string();
  folder_ = mkdtemp(pattern.data());
  write("recipe.yaml", kRecipe);
  for (int document = 0; document < 20; ++document) {
    std::string text;
    for (int line = 0; line < 40; ++line) {
      text += "Line " + std::to_string(line * 7 % 11) + " of text " + std::to_string(document) +
              " says what lines say.\n";
    }
    write("corpus/" + std::to_string(document) + ".txt", text);
  }
}

Workspace::~Workspace() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void Workspace::write(const std::string& name, const std::string& text) const {
  std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
  std::ofstream(path(name), std::ios::binary) << text;
}

std::string Workspace::read(const std::string& name) const {
  std::ifstream file(path(name), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Ended Workspace::start(std::vector<std::string> command, const LineWatcher& on_error_line) const {
  int out[2], err[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) return {};
  const pid_t child = fork();
  if (child == 0) become(folder_, std::move(command), out[1], err[1]);
  close(out[1]);
  close(err[1]);
  Stream streams[] = {{out[0], "", 0}, {err[0], "", 0}};
  pollfd polls[] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
  const time_t deadline = time(nullptr) + kMostSeconds;
  for (int open = 2; open > 0;) {
    if (time(nullptr) > deadline) kill(child, SIGKILL);
    if (poll(polls, 2, 1000) <= 0) continue;
    for (int i = 0; i < 2; ++i) {
      if (polls[i].fd < 0 || polls[i].revents == 0) continue;
      if (!streams[i].fill()) {
        polls[i].fd = -1;
        --open;
      }
    }
    while (const auto line = streams[1].next_line()) {
      if (!on_error_line) continue;
      if (const auto signal = on_error_line(*line)) kill(child, *signal);
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  close(out[0]);
  close(err[0]);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), streams[0].text,
          streams[1].text};
}

Ended Workspace::run(const std::vector<std::string>& arguments,
                     const LineWatcher& on_error_line) const {
  std::vector<std::string> command = {program()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return start(std::move(command), on_error_line);
}

Ended Workspace::shell(const std::string& script) const {
  return start({"/bin/sh", "-c", "tessera=$0\n" + script, program()}, {});
}

Ended Workspace::train(std::vector<std::string> overrides, const LineWatcher& on_error_line) const {
  overrides.insert(overrides.begin(), {"train", "recipe.yaml"});
  return run(overrides, on_error_line);
}

std::map<int, std::string> Workspace::losses(const std::string& output,
                                             const std::string& key) const {
  std::map<int, std::string> losses;
  std::istringstream lines(read(output + "/metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (json.is_object() && json.contains(key)) losses[json["step"].get<int>()] = json[key].dump();
  }
  return losses;
}

std::optional<int> reported_step(const std::string& line) {
  static const std::regex kStep("step ([0-9]+)/[0-9]+  loss");
  std::smatch match;
  if (!std::regex_search(line, match, kStep)) return std::nullopt;
  return std::stoi(match[1]);
}

}  // namespace tessera::e2e
