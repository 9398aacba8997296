#include "tessera/data/huggingface/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <utility>

namespace tessera::huggingface {
namespace {

// The machine stack that PCRE2 would use otherwise, 32 KiB, is little for nested alternatives.
constexpr size_t kStackBytes = size_t{32} << 10;
constexpr size_t kMostStackBytes = size_t{4} << 20;

std::string message_of(int error) {
  PCRE2_UCHAR text[256];
  pcre2_get_error_message(error, text, sizeof(text));
  return reinterpret_cast<const char*>(text);
}

}  // namespace

struct MatchSpace::Parts {
  pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack* stack = pcre2_jit_stack_create(kStackBytes, kMostStackBytes, nullptr);

  Parts() { pcre2_jit_stack_assign(context, nullptr, stack); }
  ~Parts() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
  }
};

MatchSpace::MatchSpace() : parts_(std::make_unique<Parts>()) {}
MatchSpace::~MatchSpace() = default;
MatchSpace::MatchSpace(MatchSpace&&) noexcept = default;

struct Pattern::Compiled {
  pcre2_code* code = nullptr;
  bool jit = false;
  ~Compiled() { pcre2_code_free(code); }
};

Pattern::Pattern(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
Pattern::~Pattern() = default;
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;

Result<Pattern> Pattern::compile(std::string_view pattern) {
  auto compiled = std::make_unique<Compiled>();
  pcre2_compile_context* context = pcre2_compile_context_create(nullptr);
  pcre2_set_newline(context, PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE offset = 0;
  compiled->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                 PCRE2_UTF | PCRE2_UCP, &error, &offset, context);
  pcre2_compile_context_free(context);
  if (compiled->code == nullptr) {
    return invalid_argument("the pattern ", pattern, " is wrong at byte ", offset, ": ",
                            message_of(error));
  }
  // Without it, as where the kernel forbids such pages, patterns are interpreted: slower, the same.
  compiled->jit = pcre2_jit_compile(compiled->code, PCRE2_JIT_COMPLETE) == 0;
  return Pattern(std::move(compiled));
}

Result<bool> Pattern::find(std::string_view text, size_t from, MatchSpace& space,
                           Match* match) const {
  const auto match_with = compiled_->jit ? pcre2_jit_match : pcre2_match;
  const int found = match_with(compiled_->code, reinterpret_cast<PCRE2_SPTR>(text.data()),
                               text.size(), from, compiled_->jit ? 0 : PCRE2_NO_UTF_CHECK,
                               space.parts_->data, space.parts_->context);
  if (found == PCRE2_ERROR_NOMATCH) return false;
  if (found < 0) {
    return absl::ResourceExhaustedError(str_cat("splitting a text of ", text.size(),
                                                " bytes at byte ", from, ": ", message_of(found),
                                                ": cut the document into smaller ones"));
  }
  const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(space.parts_->data);
  *match = {bounds[0], bounds[1]};
  return true;
}

}  // namespace tessera::huggingface
