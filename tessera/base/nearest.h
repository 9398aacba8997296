#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

/// How many insertions, deletions, replacements and swaps of neighbours turn `a` into `b`.
size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate that a user who typed `word` most likely meant; empty when none is near (more than
/// a third of it differs).
std::string nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace tessera
