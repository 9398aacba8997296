#include "tessera/data/huggingface/characters.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/uniset.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <utility>

#include "tessera/data/huggingface/unicode_additions.h"

namespace tessera::huggingface {
namespace {

constexpr std::string_view kKnownCharacters = "[:age=9.0:]";

// Of the character before `*end`, which is moved to its beginning.
UChar32 previous_character(std::string_view text, int32_t* end) {
  UChar32 character;
  U8_PREV(text.data(), 0, *end, character);
  return character;
}

UChar32 next_character(std::string_view text, int32_t* begin) {
  UChar32 character;
  U8_NEXT(text.data(), *begin, static_cast<int32_t>(text.size()), character);
  return character;
}

bool is_word_character(UChar32 character) {
  constexpr uint32_t kCategories = U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK;
  if (u_hasBinaryProperty(character, UCHAR_ALPHABETIC) ||
      u_hasBinaryProperty(character, UCHAR_JOIN_CONTROL) ||
      (U_GET_GC_MASK(character) & kCategories) != 0) {
    return true;
  }
  for (const CodePoints& added : unicode_16_additions()) {  // ICU 72 knows 15.0
    if (added.first <= static_cast<uint32_t>(character) &&
        static_cast<uint32_t>(character) <= added.last) {
      const std::string_view category = added.category;
      return category[0] == 'L' || category[0] == 'M' || category == "Nd" || category == "Nl";
    }
  }
  return false;
}

class StringSink final : public icu::ByteSink {
 public:
  explicit StringSink(std::string* out) : out_(out) {}
  void Append(const char* bytes, int32_t count) override { out_->append(bytes, count); }

 private:
  std::string* out_;
};

const icu::Normalizer2* whole_form(NormalForm form, UErrorCode& error) {
  switch (form) {
    case NormalForm::kNfc:
      return icu::Normalizer2::getNFCInstance(error);
    case NormalForm::kNfd:
      return icu::Normalizer2::getNFDInstance(error);
    case NormalForm::kNfkc:
      return icu::Normalizer2::getNFKCInstance(error);
    case NormalForm::kNfkd:
      return icu::Normalizer2::getNFKDInstance(error);
  }
  return nullptr;
}

bool is_ascii(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return (c & 0x80) != 0; });
}

}  // namespace

size_t trailing_space(std::string_view text) {
  const auto size = static_cast<int32_t>(text.size());
  int32_t begin = size;
  for (int32_t at = size; at > 0 && u_isUWhiteSpace(previous_character(text, &at));) begin = at;
  return size - begin;
}

size_t leading_space(std::string_view text) {
  int32_t end = 0;
  const auto size = static_cast<int32_t>(text.size());
  for (int32_t at = 0; at < size && u_isUWhiteSpace(next_character(text, &at));) end = at;
  return end;
}

bool ends_with_word_character(std::string_view text) {
  auto end = static_cast<int32_t>(text.size());
  return end > 0 && is_word_character(previous_character(text, &end));
}

bool starts_with_word_character(std::string_view text) {
  int32_t begin = 0;
  return !text.empty() && is_word_character(next_character(text, &begin));
}

struct Normalizer::Form {
  icu::UnicodeSet known;
  std::unique_ptr<icu::FilteredNormalizer2> form;
};

Normalizer::Normalizer() = default;
Normalizer::~Normalizer() = default;
Normalizer::Normalizer(Normalizer&&) noexcept = default;
Normalizer& Normalizer::operator=(Normalizer&&) noexcept = default;

Result<Normalizer> Normalizer::create(const std::vector<NormalForm>& forms) {
  Normalizer normalizer;
  for (const NormalForm form : forms) {
    UErrorCode error = U_ZERO_ERROR;
    auto made = std::make_unique<Form>();
    made->known.applyPattern(
        icu::UnicodeString::fromUTF8(icu::StringPiece(kKnownCharacters.data())), error);
    made->known.freeze();
    const icu::Normalizer2* whole = whole_form(form, error);
    if (U_FAILURE(error)) return internal_error("ICU has no normal forms: ", u_errorName(error));
    made->form = std::make_unique<icu::FilteredNormalizer2>(*whole, made->known);
    normalizer.forms_.push_back(std::move(made));
  }
  return normalizer;
}

Result<std::string_view> Normalizer::apply(std::string_view text, std::string* buffer) const {
  if (forms_.empty() || is_ascii(text)) return text;
  std::string_view current = text;
  for (const auto& form : forms_) {
    UErrorCode error = U_ZERO_ERROR;
    const icu::StringPiece piece(current.data(), static_cast<int32_t>(current.size()));
    if (form->form->isNormalizedUTF8(piece, error) && U_SUCCESS(error)) continue;
    std::string made;
    StringSink sink(&made);
    form->form->normalizeUTF8(0, piece, sink, nullptr, error);
    if (U_FAILURE(error)) return internal_error("ICU cannot normalise: ", u_errorName(error));
    *buffer = std::move(made);
    current = *buffer;
  }
  return current;
}

}  // namespace tessera::huggingface
