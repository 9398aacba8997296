#include "tessera/data/batch.h"

#include <algorithm>

namespace tessera {

void resize_arrays(Batch* batch) {
  const size_t count = batch->rows * batch->length;
  batch->tokens.resize(count);
  batch->targets.resize(count);
  batch->mask.resize(count);
  batch->segment_ids.resize(count);
  batch->positions.resize(count);
  batch->example_ids.resize(batch->rows);
  batch->sources.assign(batch->rows, 0);
}

RowSpans row_spans(Batch* batch, int64_t row) {
  const auto part = [&](auto& array) {
    return std::span(array).subspan(row * batch->length, batch->length);
  };
  return {part(batch->tokens), part(batch->targets), part(batch->mask), part(batch->segment_ids),
          part(batch->positions)};
}

void fill_with_padding(const RowSpans& row, int32_t pad_token) {
  std::fill(row.tokens.begin(), row.tokens.end(), pad_token);
  std::fill(row.targets.begin(), row.targets.end(), pad_token);
  std::fill(row.mask.begin(), row.mask.end(), 0.0f);
  std::fill(row.segment_ids.begin(), row.segment_ids.end(), 0);
  std::fill(row.positions.begin(), row.positions.end(), 0);
}

}  // namespace tessera
