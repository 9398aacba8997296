#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/status.h"
#include "tessera/data/huggingface/pattern.h"

namespace tessera::huggingface {

/// What becomes of a match when a text is split at it.
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

/// One step that takes pieces of text apart.
struct SplitStep {
  /// Put a space before each piece that does not begin with one. Before the pattern splits.
  bool add_prefix_space = false;
  std::optional<Pattern> pattern;
  SplitBehavior behavior = SplitBehavior::kIsolated;
  bool invert = false;  ///< What the pattern does not match counts as matched.
};

/// Takes text apart into the words that are then encoded each on its own. Immutable.
class PreTokenizer {
 public:
  /// What a call uses, kept for the next one. Pieces with a space put before them live in it.
  struct Space {
    struct Span {
      size_t begin;
      size_t end;
      bool matched;
    };
    MatchSpace match;
    std::vector<Span> spans;
    std::vector<std::string_view> previous;
    std::deque<std::string> prefixed;
  };

  explicit PreTokenizer(std::vector<SplitStep> steps) : steps_(std::move(steps)) {}

  /// Sets the pieces of `text`, which is UTF-8, in order; none is empty. They are valid until the
  /// next call with that space, and while `text` is.
  Status split(std::string_view text, Space& space, std::vector<std::string_view>* pieces) const;

 private:
  std::vector<SplitStep> steps_;
};

}  // namespace tessera::huggingface
