#include "tests/e2e/background.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "tests/e2e/program.h"

namespace tessera::e2e {

Background::Background(const std::string& folder, std::vector<std::string> command,
                       const std::string& mark) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  pipe_ = ends[0];
  std::string name_and_value = mark;
  child_ = fork();
  if (child_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that is killed leaves nothing behind
    putenv(name_and_value.data());
    become(folder, std::move(command), ends[1], ends[1]);
  }
  close(ends[1]);
}

Background::~Background() {
  signal(SIGKILL);
  exit_code();
  close(pipe_);
}

bool Background::read(double seconds, const TakeLine& take) {
  pollfd entry = {.fd = pipe_, .events = POLLIN, .revents = 0};
  if (poll(&entry, 1, static_cast<int>(seconds * 1e3)) <= 0) return true;
  char bytes[65536];
  const ssize_t count = ::read(pipe_, bytes, sizeof bytes);
  if (count <= 0) return false;
  text_.append(bytes, static_cast<size_t>(count));
  size_t begin = 0;
  for (size_t end; (end = text_.find('\n', begin)) != std::string::npos; begin = end + 1)
    take(text_.substr(begin, end - begin));
  text_.erase(0, begin);
  return true;
}

void Background::signal(int number) const {
  if (child_ > 0) kill(child_, number);
}

int Background::exit_code() {
  int status = 0;
  if (child_ <= 0 || waitpid(child_, &status, 0) != child_) return exit_code_;
  child_ = -1;
  return exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::vector<pid_t> processes_with(const std::vector<std::string>& variables) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0) continue;
    std::ifstream file(entry.path() / "environ", std::ios::binary);
    const std::string all = '\0' + std::string(std::istreambuf_iterator<char>(file), {}) + '\0';
    const bool has_all = std::all_of(variables.begin(), variables.end(), [&](const auto& variable) {
      return all.find('\0' + variable + '\0') != std::string::npos;
    });
    if (has_all) found.push_back(pid);
  }
  return found;
}

}  // namespace tessera::e2e
