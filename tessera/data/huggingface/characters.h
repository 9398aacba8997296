#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/status.h"

/// What Unicode says of characters, from ICU. Texts are UTF-8.
namespace tessera::huggingface {

/// Bytes of white space (Unicode's White_Space) at the end, at the beginning.
size_t trailing_space(std::string_view text);
size_t leading_space(std::string_view text);
/// Whether the last, the first character is alphabetic, a mark, a digit, joins words like _, or
/// controls joining (Unicode TR 18, annex C). False for an empty text.
bool ends_with_word_character(std::string_view text);
bool starts_with_word_character(std::string_view text);

enum class NormalForm { kNfc, kNfd, kNfkc, kNfkd };

/// Unicode's normal forms as Unicode 9.0 has them: characters assigned later stay as they are, as
/// in the library that made tokenizer.json files. Immutable.
class Normalizer {
 public:
  /// Applies the forms one after another; none: texts stay as they are.
  static Result<Normalizer> create(const std::vector<NormalForm>& forms);
  ~Normalizer();
  Normalizer(Normalizer&&) noexcept;
  Normalizer& operator=(Normalizer&&) noexcept;

  /// The normalised text: `text` itself where that is normalised, or `buffer`.
  Result<std::string_view> apply(std::string_view text, std::string* buffer) const;

 private:
  struct Form;
  Normalizer();
  std::vector<std::unique_ptr<Form>> forms_;
};

}  // namespace tessera::huggingface
