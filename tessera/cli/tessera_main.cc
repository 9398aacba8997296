#include <fcntl.h>

#include <cerrno>
#include <csignal>
#include <exception>
#include <iostream>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "tessera/cli/command.h"

namespace {

// A standard stream that the caller closed would give its number to the next file that is opened,
// such as a checkpoint's, and messages would be written into that. What is opened in its place
// cannot be written to at standard output, so that lost output is noticed.
void keep_standard_streams_open() {
  for (const int descriptor : {0, 1, 2}) {
    if (fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    if (open("/dev/null", descriptor == 2 ? O_WRONLY : O_RDONLY) != descriptor) return;
  }
}

int run(const std::vector<std::string>& arguments) {
  try {
    return tessera::cli::run_program(arguments, tessera::cli::all_commands(), std::cout, std::cerr);
  } catch (const std::bad_alloc&) {
    std::cerr << "tessera: out of memory: use a smaller model, batch or sequence\n";
  } catch (const std::length_error&) {
    std::cerr << "tessera: out of memory: use a smaller model, batch or sequence\n";
  } catch (const std::exception& error) {
    std::cerr << "tessera: " << error.what() << "\n";
  }
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  keep_standard_streams_open();
  std::signal(SIGXFSZ,
              SIG_IGN);  // a file that may grow no further (ulimit -f) is an error to tell of
  const int code = run(std::vector<std::string>(argv + 1, argv + argc));
  if (std::cout.flush()) return code;
  std::cerr << "tessera: standard output cannot be written to: the output is not complete\n";
  return code == 0 ? 1 : code;
}
