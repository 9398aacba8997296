#pragma once

#include <cstdint>
#include <span>

#include "tessera/data/batch.h"
#include "tessera/data/token_store.h"

/// Rows are made of pieces of documents; this is how one piece is written.
namespace tessera {

/// Tokens of one document, next to each other.
struct DocumentPiece {
  uint64_t from = 0;   // in the store
  uint32_t count = 0;  // at least 1
  bool ends = false;   // the document ends with it; else another token follows, its last target
};

/// The part of a row from `begin` on that a piece fills.
RowSpans part_of(const RowSpans& row, size_t begin, size_t count);

/// Writes a piece as the segment `segment_id` (from 1) of a row: into spans of its size. `masked`:
/// only targets that the store's loss mask counts have a weight.
void fill_piece(const TokenStore& store, const DocumentPiece& piece, bool masked, int32_t pad_token,
                int32_t segment_id, const RowSpans& part);

/// DATA_LOSS where a row holds a token that is none: devices would take it for another one, and
/// train on.
Status check_row(const TokenStore& store, const RowSpans& row);

}  // namespace tessera
