#pragma once

#include <cstdint>
#include <string>

namespace tessera {

/// A number that no other call gives, here or on another machine, as far as chance can say; never
/// 0. Not for secrets.
uint64_t random_id();
/// The same as 16 hexadecimal digits.
std::string random_name();

}  // namespace tessera
