#include "tessera/base/random_id.h"

#include <random>

#include "absl/strings/str_format.h"

namespace tessera {

uint64_t random_id() {
  std::random_device device;
  const uint64_t id = static_cast<uint64_t>(device()) << 32 | device();
  return id != 0 ? id : 1;
}

std::string random_name() { return absl::StrFormat("%016x", random_id()); }

}  // namespace tessera
