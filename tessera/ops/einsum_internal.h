#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera::linear_internal {

/// One operand's or the result's letters: "b...t" is letters "bt" with the ellipsis at 1.
struct EinsumTerm {
  std::string letters;
  int ellipsis = -1;  ///< how many letters stand before `...`; -1 when there is none

  bool operator==(const EinsumTerm&) const = default;
};

struct EinsumEquation {
  std::vector<EinsumTerm> operands;
  EinsumTerm result;
};

/// Parses "btd,df->btf". Throws TraceError that quotes the equation and says what is wrong with it:
/// no arrow, another character than a letter, a letter of the result twice or in no operand.
EinsumEquation parse_einsum(std::string_view equation);

}  // namespace tessera::linear_internal
