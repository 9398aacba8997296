#include "tessera/kernels/f32_product.h"

#include <algorithm>

#include "tessera/kernels/f32_blocks.h"
#include "tessera/kernels/processor.h"
#include "tessera/kernels/workers.h"

namespace tessera::kernels {
namespace {

// Panels of the second matrix are packed by each task that needs them, into memory that stays near:
// next to a few hundred rows that costs little, while a whole matrix would go out to memory and
// back. A first matrix that lies in rows is read as it lies; of one that lies in columns each task
// copies its part, for as many panels as make that cheap.
constexpr int64_t kTileRows = 6, kLeastRows = 192, kMostCopiedRows = 516;
constexpr int64_t kCopyColumns = 256, kCopyDepth = 512, kDepth = 1024;
constexpr int64_t kTasksPerThread = 6;

/// How a product is cut: into tasks of rows x columns, each done in parts of k.
struct Cut {
  bool copies;
  int64_t rows, columns, depth;
};

Cut cut_of(const Product& p, int threads) {
  const bool copies = p.a_m == 1 && p.a_k != 1 && p.m > kTileRows;
  const int64_t columns = copies ? kCopyColumns : kPanel;
  const int64_t tasks = threads > 1 ? kTasksPerThread * threads : 1;
  const int64_t least = copies ? quotient_up(p.m, kMostCopiedRows) : 1;
  const int64_t row_blocks = std::clamp(quotient_up(tasks, quotient_up(p.n, columns)), least,
                                        std::max(least, p.m / kLeastRows));
  const int64_t parts = quotient_up(p.k, copies ? kCopyDepth : kDepth);
  return {.copies = copies,
          .rows = quotient_up(quotient_up(p.m, row_blocks), kTileRows) * kTileRows,
          .columns = columns,
          .depth = quotient_up(p.k, parts)};
}

/// A product of a task's size, on one thread.
void multiply_task(const Product& p, const Cut& cut, const f32::Matrix& a, const f32::Matrix& b,
                   float* c) {
  float* copy = nullptr;
  if (cut.copies)
    copy =
        scratch_of<float>(ScratchPlace::kRows, f32::copy_size({nullptr, a.rows, cut.depth, 1, 0}));
  float* packed = scratch_of<float>(ScratchPlace::kPacked, f32::packed_size(cut.depth, kPanel));
  for (int64_t k = 0; k < p.k; k += cut.depth) {
    const int64_t depth = std::min(cut.depth, p.k - k);
    const f32::Matrix rows{a.data + k * a.column, a.rows, depth, a.row, a.column};
    const f32::First first = cut.copies ? f32::copy_columns(rows, copy) : f32::first_of(rows);
    for (int64_t j = 0; j < b.columns; j += kPanel) {
      const int64_t width = std::min(kPanel, b.columns - j);
      f32::pack({b.data + k * b.row + j * b.column, depth, width, b.row, b.column}, packed);
      f32::multiply({.m = a.rows, .n = width, .k = depth, .accumulate = p.accumulate || k > 0},
                    first, packed, {c + j, p.c_m});
    }
  }
}

}  // namespace

bool has_f32_product() { return processor() >= Processor::kAvx2 && !is_intel(); }

void multiply_f32(const Product& p, int threads, const void* a, const void* b, void* c) {
  const Cut cut = cut_of(p, threads);
  const int64_t row_blocks = quotient_up(p.m, cut.rows);
  run_parallel(threads, row_blocks * quotient_up(p.n, cut.columns), [&](int64_t task) {
    const int64_t i = task % row_blocks * cut.rows, j = task / row_blocks * cut.columns;
    multiply_task(
        p, cut,
        {static_cast<const float*>(a) + i * p.a_m, std::min(cut.rows, p.m - i), p.k, p.a_m, p.a_k},
        {static_cast<const float*>(b) + j * p.b_n, p.k, std::min(cut.columns, p.n - j), p.b_k,
         p.b_n},
        static_cast<float*>(c) + i * p.c_m + j);
  });
}

}  // namespace tessera::kernels
