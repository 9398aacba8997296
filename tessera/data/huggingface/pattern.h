#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "tessera/base/status.h"

namespace tessera::huggingface {

/// What a search needs while it lasts, kept from one to the next. One thread at a time.
class MatchSpace {
 public:
  MatchSpace();
  ~MatchSpace();
  MatchSpace(MatchSpace&&) noexcept;

 private:
  friend class Pattern;
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

struct Match {
  size_t begin;  ///< In bytes.
  size_t end;
};

/// A regular expression, compiled. Immutable: any thread may search with it.
class Pattern {
 public:
  /// `pattern` is PCRE2's. INVALID_ARGUMENT, with what is wrong and where.
  static Result<Pattern> compile(std::string_view pattern);
  ~Pattern();
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;

  /// Sets the first match at or after `from`, which may be empty, and returns true; false where
  /// there is none. `text` must be UTF-8. RESOURCE_EXHAUSTED when the text asks for too much
  /// backtracking.
  Result<bool> find(std::string_view text, size_t from, MatchSpace& space, Match* match) const;

 private:
  struct Compiled;
  explicit Pattern(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace tessera::huggingface
