#pragma once

#include <string>
#include <string_view>

#include "tessera/base/status.h"

namespace tessera::huggingface {

/// The PCRE2 pattern that matches what `pattern` matches in Oniguruma (Ruby's syntax), whose
/// patterns tokenizer.json files hold: literals, classes, `\s \S \d \D`, general categories and
/// `\p{Han}`, groups, look-around, `(?i:...)`, alternatives and repetitions; `\s` is Unicode's
/// White_Space, categories are those of Unicode 16.0. Anything else is UNIMPLEMENTED and names what
/// and where: a pattern is never read in another sense.
Result<std::string> pcre2_of_oniguruma(std::string_view pattern);

/// The numbers of Unicode 17.0, as a PCRE2 class: what the Digits pre-tokenizer looks for.
std::string pcre2_numbers();

}  // namespace tessera::huggingface
