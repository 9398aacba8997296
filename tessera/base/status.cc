#include "tessera/base/status.h"

#include <cstdio>
#include <cstdlib>

namespace tessera::status_internal {

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  std::fprintf(stderr, "%s:%d: broken invariant: %s %s\n", file, line, condition, message.c_str());
  std::abort();
}

}  // namespace tessera::status_internal
