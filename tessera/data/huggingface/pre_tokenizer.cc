#include "tessera/data/huggingface/pre_tokenizer.h"

#include <utility>

namespace tessera::huggingface {
namespace {

using Span = PreTokenizer::Space::Span;
using Pieces = std::vector<std::string_view>;

void add_piece(std::string_view text, size_t begin, size_t end, Pieces* pieces) {
  if (begin != end) pieces->push_back(text.substr(begin, end - begin));
}

// Where the next search begins: an empty match is stepped over by a whole character.
size_t after(std::string_view text, const Match& match) {
  if (match.end != match.begin) return match.end;
  size_t next = match.end + 1;
  while (next < text.size() && (static_cast<unsigned char>(text[next]) & 0xC0) == 0x80) ++next;
  return next;
}

// Each match a piece, and what is between them: by far the most used, so it makes no spans.
Status split_isolated(std::string_view text, const Pattern& pattern, MatchSpace& space,
                      Pieces* pieces) {
  size_t done = 0;
  for (size_t from = 0; from < text.size();) {
    Match match;
    ASSIGN_OR_RETURN(const bool found, pattern.find(text, from, space, &match));
    if (!found) break;
    add_piece(text, done, match.begin, pieces);
    add_piece(text, match.begin, match.end, pieces);
    done = match.end;
    from = after(text, match);
  }
  add_piece(text, done, text.size(), pieces);
  return {};
}

Status find_spans(std::string_view text, const SplitStep& step, PreTokenizer::Space& space) {
  space.spans.clear();
  size_t done = 0;
  for (size_t from = 0; from < text.size();) {
    Match match;
    ASSIGN_OR_RETURN(const bool found, step.pattern->find(text, from, space.match, &match));
    if (!found) break;
    if (done != match.begin) space.spans.push_back({done, match.begin, step.invert});
    space.spans.push_back({match.begin, match.end, !step.invert});
    done = match.end;
    from = after(text, match);
  }
  if (done != text.size()) space.spans.push_back({done, text.size(), step.invert});
  return {};
}

// Joins spans to the one before: a match to what is no match (kMergedWithPrevious), or spans of one
// kind (kContiguous).
void join_to_previous(std::string_view text, std::vector<Span>& spans, bool contiguous,
                      Pieces* pieces) {
  size_t begin = 0, end = 0;
  bool previous_matched = false, first = true;
  for (const Span& span : spans) {
    const bool joins =
        contiguous ? span.matched == previous_matched : span.matched && !previous_matched;
    if (!joins || first) {
      add_piece(text, begin, end, pieces);
      begin = span.begin;
    }
    end = span.end;
    previous_matched = span.matched;
    first = false;
  }
  add_piece(text, begin, end, pieces);
}

// Joins each match to what follows it, unless that is a match too.
void join_to_next(std::string_view text, const std::vector<Span>& spans, Pieces* pieces) {
  for (size_t i = 0; i < spans.size(); ++i) {
    const bool joins = spans[i].matched && i + 1 < spans.size() && !spans[i + 1].matched;
    add_piece(text, spans[i].begin, spans[joins ? i + 1 : i].end, pieces);
    if (joins) ++i;
  }
}

Status split_piece(std::string_view text, const SplitStep& step, PreTokenizer::Space& space,
                   Pieces* pieces) {
  if (step.behavior == SplitBehavior::kIsolated) {
    return split_isolated(text, *step.pattern, space.match, pieces);
  }
  RETURN_IF_ERROR(find_spans(text, step, space));
  if (step.behavior == SplitBehavior::kMergedWithNext) {
    join_to_next(text, space.spans, pieces);
  } else if (step.behavior == SplitBehavior::kRemoved) {
    for (const Span& span : space.spans) {
      if (!span.matched) add_piece(text, span.begin, span.end, pieces);
    }
  } else {
    join_to_previous(text, space.spans, step.behavior == SplitBehavior::kContiguous, pieces);
  }
  return {};
}

}  // namespace

Status PreTokenizer::split(std::string_view text, Space& space,
                           std::vector<std::string_view>* pieces) const {
  pieces->clear();
  space.prefixed.clear();
  add_piece(text, 0, text.size(), pieces);
  for (const SplitStep& step : steps_) {
    if (step.add_prefix_space) {
      for (std::string_view& piece : *pieces) {
        if (!piece.starts_with(' ')) piece = space.prefixed.emplace_back(str_cat(" ", piece));
      }
    }
    if (!step.pattern.has_value()) continue;
    std::swap(*pieces, space.previous);
    pieces->clear();
    for (const std::string_view piece : space.previous) {
      RETURN_IF_ERROR(split_piece(piece, step, space, pieces));
    }
  }
  return {};
}

}  // namespace tessera::huggingface
