#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tessera::huggingface {

/// Code points from `first` to `last` that have the general category `category`, such as "Lu".
struct CodePoints {
  uint32_t first;
  uint32_t last;
  std::string_view category;
};

/// What Unicode 15.0 to 16.0 assigned: PCRE2 10.42 knows Unicode 14.0, the library that made
/// tokenizer.json files splits by 16.0. Ascending. Without controls, whose categories no pattern
/// may name.
std::span<const CodePoints> unicode_16_additions();

/// The ideographs that PCRE2's `\p{sc:Han}` lacks.
std::span<const CodePoints> han_additions();

/// The numbers of Unicode 17.0 besides: the Digits pre-tokenizer knows them.
std::span<const CodePoints> unicode_17_numbers();

}  // namespace tessera::huggingface
