#include "absl/strings/ascii.h"
#include "tessera/ir/graph.h"
#include "tessera/ops/einsum_internal.h"

namespace tessera::linear_internal {
namespace {

EinsumTerm parse_term(std::string_view text, std::string_view equation) {
  EinsumTerm term;
  for (size_t i = 0; i < text.size(); ++i) {
    if (absl::ascii_isspace(static_cast<unsigned char>(text[i]))) continue;
    if (text.substr(i, 3) == "..." && term.ellipsis < 0) {
      term.ellipsis = static_cast<int>(term.letters.size());
      i += 2;
    } else if (absl::ascii_isalpha(static_cast<unsigned char>(text[i]))) {
      term.letters.push_back(text[i]);
    } else {
      fail("[einsum] \"", equation, "\": '", std::string(1, text[i]), "' at place ",
           text.data() + i - equation.data(),
           " is no letter; a term is letters and at most one `...`, terms are split by `,`");
    }
  }
  return term;
}

void check_result(const EinsumEquation& parsed, std::string_view equation) {
  const std::string& letters = parsed.result.letters;
  for (size_t i = 0; i < letters.size(); ++i) {
    if (letters.find(letters[i], i + 1) != std::string::npos) {
      fail("[einsum] \"", equation, "\": letter ", letters.substr(i, 1),
           " stands twice after the arrow; once is allowed");
    }
    bool found = false;
    for (const EinsumTerm& term : parsed.operands) {
      found = found || term.letters.find(letters[i]) != std::string::npos;
    }
    if (!found) {
      fail("[einsum] \"", equation, "\": letter ", letters.substr(i, 1),
           " after the arrow is in no operand");
    }
  }
  bool ellipsis = false;
  for (const EinsumTerm& term : parsed.operands) ellipsis = ellipsis || term.ellipsis >= 0;
  if (ellipsis != (parsed.result.ellipsis >= 0)) {
    fail("[einsum] \"", equation, "\": `...` must stand on both sides of the arrow, or on none");
  }
}

}  // namespace

EinsumEquation parse_einsum(std::string_view equation) {
  const size_t arrow = equation.find("->");
  if (arrow == std::string_view::npos) {
    fail("[einsum] \"", equation, "\" has no `->`: write the result's letters after one");
  }
  EinsumEquation parsed;
  std::string_view operands = equation.substr(0, arrow);
  for (size_t comma; (comma = operands.find(',')) != std::string_view::npos;) {
    parsed.operands.push_back(parse_term(operands.substr(0, comma), equation));
    operands.remove_prefix(comma + 1);
  }
  parsed.operands.push_back(parse_term(operands, equation));
  parsed.result = parse_term(equation.substr(arrow + 2), equation);
  check_result(parsed, equation);
  return parsed;
}

}  // namespace tessera::linear_internal
