#include "tessera/data/huggingface/pattern_syntax.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <vector>

#include "absl/strings/str_format.h"
#include "tessera/data/huggingface/unicode_additions.h"

namespace tessera::huggingface {
namespace {

constexpr std::string_view kSpaces =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
// Looked up in a bitmap before the property is asked for: most text is of these.
constexpr std::string_view kCommonLetters =
    R"(A-Za-z\x{aa}\x{b5}\x{ba}\x{c0}-\x{d6}\x{d8}-\x{f6}\x{f8}-\x{ff})";
constexpr std::string_view kCommonNumbers = R"(0-9\x{b2}\x{b3}\x{b9}\x{bc}-\x{be})";
constexpr std::string_view kCategories[] = {"L",  "Lu", "Ll", "Lt", "Lm", "Lo", "M",  "N",  "Nd",
                                            "Nl", "No", "P",  "Pc", "Pd", "Ps", "Pe", "Pi", "Pf",
                                            "Po", "S",  "Sm", "Sc", "Sk", "So", "Z",  "Zs"};

std::string escaped(uint32_t character) { return absl::StrFormat("\\x{%x}", character); }

void append_ranges(std::span<const CodePoints> ranges, std::string_view category,
                   std::string* out) {
  for (const CodePoints& range : ranges) {
    if (!range.category.starts_with(category)) continue;
    *out += escaped(range.first);
    if (range.last != range.first) str_append(out, "-", escaped(range.last));
  }
}

// The inside of a class that has the characters of a property; nothing for one that is not known.
std::optional<std::string> property_class(std::string_view name) {
  std::string inside;
  if (name == "Han") {
    inside = R"(\p{sc:Han})";
    append_ranges(han_additions(), "", &inside);
    return inside;
  }
  if (std::find(std::begin(kCategories), std::end(kCategories), name) == std::end(kCategories)) {
    return std::nullopt;
  }
  if (name == "L") inside = kCommonLetters;
  if (name == "N") inside = kCommonNumbers;
  str_append(&inside, "\\p{", name, "}");
  append_ranges(unicode_16_additions(), name, &inside);
  return inside;
}

// What a backslash and what follows it stand for: one character, or a set of them.
struct Escape {
  std::optional<uint32_t> character;
  std::string set;  // the inside of a class
  bool negated = false;
};

class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  Result<std::string> run() {
    while (at_ < pattern_.size()) RETURN_IF_ERROR(next());
    return std::move(out_);
  }

 private:
  char peek(size_t ahead = 0) const {
    return at_ + ahead < pattern_.size() ? pattern_[at_ + ahead] : '\0';
  }
  bool take(std::string_view text) {
    if (!pattern_.substr(at_).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }
  Status unsupported(std::string_view what) const {
    return unimplemented("the pattern ", pattern_, " has ", what, " at byte ", at_,
                         ", which is not supported");
  }

  Status next() {
    const char c = peek();
    if (caseless() && (c == '[' || c == '.')) return unsupported("a set inside (?i: )");
    if (c == '\\') return escape();
    if (c == '[') return character_class();
    if (c == '(') return open_group();
    if (c == ')' && !caseless_.empty()) caseless_.pop_back();
    if (c == '{') return braces();
    if (c == '^' || c == '$') return unsupported(str_cat("the anchor ", std::string(1, c)));
    if (std::string_view(")|?*+.").find(c) != std::string_view::npos) {
      letter_ = 0;
      out_.push_back(c);
      ++at_;
      return {};
    }
    ASSIGN_OR_RETURN(const uint32_t character, take_character());
    return literal(character);
  }

  bool caseless() const { return !caseless_.empty() && caseless_.back(); }

  // Without regard to case Oniguruma takes two letters for one, such as ss for \u00DF; PCRE2 does
  // not.
  Status literal(uint32_t character) {
    if (caseless()) {
      if (character >= 0x80) return unsupported("a character outside ASCII inside (?i: )");
      const auto lower = static_cast<char>(std::tolower(static_cast<int>(character)));
      for (const std::string_view pair : {"ss", "st", "ff", "fi", "fl"}) {
        if (letter_ == pair[0] && lower == pair[1])
          return unsupported(str_cat("the letters ", pair, " inside (?i: )"));
      }
      letter_ = lower;
    }
    out_ += escaped(character);
    return {};
  }

  Status escape() {
    ASSIGN_OR_RETURN(const Escape found, take_escape());
    if (found.character.has_value()) return literal(*found.character);
    if (caseless()) return unsupported("a set inside (?i: )");
    str_append(&out_, found.negated ? "[^" : "[", found.set, "]");
    return {};
  }

  Result<uint32_t> take_character() {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(peek(i)); };
    const unsigned char lead = byte(0);
    const int length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (lead >= 0x80 && (lead < 0xC2 || at_ + length > pattern_.size()))
      return unsupported("bytes that are not UTF-8");
    uint32_t character = length == 1 ? lead : lead & (0x7F >> length);
    for (int i = 1; i < length; ++i) character = character << 6 | (byte(i) & 0x3F);
    at_ += length;
    return character;
  }

  Result<Escape> take_escape() {
    const char c = peek(1);
    constexpr std::string_view kNames = "rntfv", kCharacters = "\r\n\t\f\v";
    if (const size_t found = kNames.find(c); c != '\0' && found != std::string_view::npos) {
      at_ += 2;
      return Escape{.character = static_cast<unsigned char>(kCharacters[found])};
    }
    if (c == 's' || c == 'S') {
      at_ += 2;
      return Escape{.set = std::string(kSpaces), .negated = c == 'S'};
    }
    if (c == 'd' || c == 'D') {
      at_ += 2;
      return Escape{.set = *property_class("Nd"), .negated = c == 'D'};
    }
    if (c == 'p' || c == 'P') return take_property();
    if (c == 'x' || c == 'u') return take_code_point();
    if (c == '\0' || std::isalnum(static_cast<unsigned char>(c)) || (c & 0x80) != 0) {
      return unsupported(str_cat("the escape \\", std::string(c == '\0' ? 0 : 1, c)));
    }
    at_ += 2;
    return Escape{.character = static_cast<unsigned char>(c)};
  }

  Result<Escape> take_property() {
    const size_t close = pattern_.find('}', at_);
    if (peek(2) != '{' || close == std::string_view::npos)
      return unsupported("a property without braces");
    std::string_view name = pattern_.substr(at_ + 3, close - at_ - 3);
    bool negated = peek(1) == 'P';
    if (name.starts_with('^')) {
      negated = !negated;
      name.remove_prefix(1);
    }
    const std::optional<std::string> inside = property_class(name);
    if (!inside.has_value()) return unsupported(str_cat("the property ", name));
    at_ = close + 1;
    return Escape{.set = *inside, .negated = negated};
  }

  // \x{48} and \u0048.
  Result<Escape> take_code_point() {
    const bool braced = peek(1) == 'x' && peek(2) == '{';
    const size_t begin = at_ + (braced ? 3 : 2);
    const size_t end = braced ? pattern_.find('}', begin) : begin + 4;
    if ((!braced && peek(1) == 'x') || end == std::string_view::npos || end > pattern_.size() ||
        end - begin > 6 || end == begin) {
      return unsupported("a character's number in a form");
    }
    uint32_t character = 0;
    for (size_t i = begin; i < end; ++i) {
      const auto digit = static_cast<unsigned char>(pattern_[i]);
      if (!std::isxdigit(digit)) return unsupported("a character's number in a form");
      character = character * 16 + (std::isdigit(digit) ? digit - '0' : (digit | 0x20) - 'a' + 10);
    }
    at_ = end + (braced ? 1 : 0);
    return Escape{.character = character};
  }

  Status open_group() {
    for (const std::string_view open :
         {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:", "(?-i:"}) {
      if (!take(open)) continue;
      out_ += open;
      caseless_.push_back(open == "(?i:" || (open != "(?-i:" && caseless()));
      letter_ = 0;
      return {};
    }
    if (peek(1) == '?' || peek(1) == '*') return unsupported("a group of another kind");
    out_ += "(?:";  // what a group matched is never asked for
    caseless_.push_back(caseless());
    letter_ = 0;
    ++at_;
    return {};
  }

  // {2}, {2,}, {,3}, {2,3}; what looks otherwise is a brace like any other character.
  Status braces() {
    size_t i = 1;
    std::string numbers[2];
    while (std::isdigit(static_cast<unsigned char>(peek(i)))) numbers[0] += peek(i++);
    const bool comma = peek(i) == ',';
    if (comma) ++i;
    while (comma && std::isdigit(static_cast<unsigned char>(peek(i)))) numbers[1] += peek(i++);
    if (peek(i) != '}' || (numbers[0].empty() && numbers[1].empty())) {
      ++at_;
      out_ += escaped('{');
      return {};
    }
    // In Ruby's syntax these repeat the repetition, or not, by version.
    if (peek(i + 1) == '+' || peek(i + 1) == '*' || (peek(i + 1) == '?' && !comma)) {
      return unsupported("a repetition of a repetition");
    }
    str_append(&out_, "{", numbers[0].empty() ? "0" : numbers[0], comma ? "," : "", numbers[1],
               "}");
    at_ += i + 1;
    return {};
  }

  Status character_class() {
    ++at_;
    out_ += '[';
    if (take("^")) out_ += '^';
    if (peek() == ']') return unsupported("a class that begins with ]");
    while (peek() != ']') {
      if (at_ >= pattern_.size()) return unsupported("a class without an end");
      if (peek() == '[') return unsupported("a class inside a class");
      if (peek() == '&' && peek(1) == '&') return unsupported("an intersection of classes");
      RETURN_IF_ERROR(class_item());
    }
    ++at_;
    out_ += ']';
    return {};
  }

  Status class_item() {
    ASSIGN_OR_RETURN(const Escape first, class_atom());
    if (!first.character.has_value()) {
      if (first.negated) return unsupported("a negated set inside a class");
      if (peek() == '-' && peek(1) != ']') return unsupported("a range that begins with a set");
      out_ += first.set;
      return {};
    }
    out_ += escaped(*first.character);
    if (peek() != '-' || peek(1) == ']') return {};
    ++at_;
    ASSIGN_OR_RETURN(const Escape last, class_atom());
    if (!last.character.has_value() || *last.character < *first.character) {
      return unsupported("a range that ends before it begins");
    }
    str_append(&out_, "-", escaped(*last.character));
    return {};
  }

  Result<Escape> class_atom() {
    if (peek() == '\\') return take_escape();
    if (peek() == '[') return unsupported("a class inside a class");
    ASSIGN_OR_RETURN(const uint32_t character, take_character());
    return Escape{.character = character};
  }

  const std::string_view pattern_;
  size_t at_ = 0;
  std::string out_;
  std::vector<bool> caseless_;  // of each open group
  char letter_ = 0;             // the literal before, in a group without regard to case
};

}  // namespace

Result<std::string> pcre2_of_oniguruma(std::string_view pattern) {
  return Translator(pattern).run();
}

std::string pcre2_numbers() {
  std::string inside = *property_class("N");
  append_ranges(unicode_17_numbers(), "N", &inside);
  return str_cat("[", inside, "]");
}

}  // namespace tessera::huggingface
