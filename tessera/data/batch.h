#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tessera {

/// Where the arrays of one row are written: spans of the same length.
struct RowSpans {
  std::span<int32_t> tokens;
  std::span<int32_t> targets;
  std::span<float> mask;
  std::span<int32_t> segment_ids;
  std::span<int32_t> positions;
};

/// Rows of a global batch, in host memory. Arrays are [rows, length], row-major, but for the
/// last three.
struct Batch {
  int64_t position = 0;  // of the global batch's first row in the sample sequence
  int64_t rows = 0;
  int64_t length = 0;

  std::vector<int32_t> tokens;
  /// The token that follows in the same document; the pad token where `mask` is 0.
  std::vector<int32_t> targets;
  /// The weight of each target in the loss: 1, or 0 where there is no target: at the last token of
  /// a document, and in padding.
  std::vector<float> mask;
  /// 1, 2, … for the documents of a row, in order; 0 is padding.
  std::vector<int32_t> segment_ids;
  /// 0, 1, … within each segment of a row; 0 in padding.
  std::vector<int32_t> positions;
  /// [rows]: which row of the global batch each one is, ascending.
  std::vector<int64_t> row_numbers;
  /// [rows]: which example of its source a row is; -1 for a row of padding (after the last example
  /// of all).
  std::vector<int64_t> example_ids;
  /// [rows]: which source it is of, in the order of a mixture; 0 where there is one.
  std::vector<int32_t> sources;
};

/// Sets the sizes of all arrays for batch.rows and batch.length.
void resize_arrays(Batch* batch);
/// Where row `row` of the batch lies.
RowSpans row_spans(Batch* batch, int64_t row);
/// A row that is all padding.
void fill_with_padding(const RowSpans& row, int32_t pad_token);

}  // namespace tessera
