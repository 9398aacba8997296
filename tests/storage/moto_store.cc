#include "tests/storage/moto_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "tessera/base/environment.h"

namespace tessera::storage_testing {
namespace {

std::string read_line(int descriptor) {
  std::string line;
  char c = 0;
  while (::read(descriptor, &c, 1) == 1 && c != '\n') line += c;
  return line;
}

}  // namespace

MotoStore::MotoStore() {
  const Result<std::string> cache = cache_folder();
  CHECK_MSG(cache.ok(), cache.status().ToString());
  const char* source = std::getenv("TESSERA_SOURCE_DIR");
  CHECK_MSG(source != nullptr, "ctest sets it; by hand: TESSERA_SOURCE_DIR=.");
  const std::string python = *cache + "/venv-moto/bin/python";
  const std::string script = str_cat(source, "/tests/storage/moto_store.py");
  CHECK_MSG(::access(python.c_str(), X_OK) == 0, python + " is missing: run scripts/setup_foreign");
  int in[2], out[2];
  CHECK(::pipe2(in, O_CLOEXEC) == 0 && ::pipe2(out, O_CLOEXEC) == 0);
  child_ = ::fork();
  CHECK(child_ >= 0);
  if (child_ == 0) {
    ::dup2(in[0], 0);
    ::dup2(out[1], 1);
    ::execl(python.c_str(), python.c_str(), script.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(in[0]);
  ::close(out[1]);
  stdin_ = in[1];
  std::istringstream line(read_line(out[0]));
  ::close(out[0]);
  line >> account_port_ >> key_ >> secret_;
  CHECK_MSG(!secret_.empty(), "moto did not start");
}

MotoStore::~MotoStore() {
  int status = 0;
  if (::waitpid(child_, &status, WNOHANG) == child_) {
    ADD_FAILURE() << "the store ended before its test did, "
                  << (WIFSIGNALED(status) ? "by signal " : "with exit code ")
                  << (WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    ::close(stdin_);
    return;
  }
  ::close(stdin_);  // which it waits for
  ::waitpid(child_, nullptr, 0);
}

S3Account MotoStore::account(int port) const {
  return {.access_key_id = key_,
          .secret_access_key = secret_,
          .endpoint = str_cat("http://127.0.0.1:", port == 0 ? account_port_ : port)};
}

}  // namespace tessera::storage_testing
