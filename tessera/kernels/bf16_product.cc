#include "tessera/kernels/bf16_product.h"

#include <algorithm>

#include "tessera/kernels/bf16_blocks.h"
#include "tessera/kernels/processor.h"
#include "tessera/kernels/workers.h"

namespace tessera::kernels {
namespace {

// A task's part of the result: what it reads of both operands fits the second-level cache.
constexpr int64_t kTaskRows = 192, kTaskColumns = 256;

}  // namespace

bool has_bf16_product() { return processor() == Processor::kAvx512Bf16 && !is_intel(); }

void multiply_bf16(const Product& p, int threads, const void* a, const void* b, void* c) {
  const auto* from_a = static_cast<const uint16_t*>(a);
  const bf16::Matrix second{static_cast<const uint16_t*>(b), p.k, p.n, p.b_k, p.b_n};
  const int64_t row_blocks = quotient_up(p.m, kTaskRows);
  const int64_t column_blocks = quotient_up(p.n, kTaskColumns);
  const auto rows_of = [&](int64_t block) {
    const int64_t first = block * kTaskRows;
    return bf16::Matrix{from_a + first * p.a_m, std::min(kTaskRows, p.m - first), p.k, p.a_m,
                        p.a_k};
  };
  const bool copies = !bf16::has_pairs(rows_of(0));
  const int64_t block_size = copies ? (bf16::pairs_size(rows_of(0)) + 31) / 32 * 32 : 0;
  uint16_t* packed =
      scratch_of<uint16_t>(ScratchPlace::kCaller, bf16::packed_size(second.rows, second.columns));
  uint16_t* copied =
      copies ? scratch_of<uint16_t>(ScratchPlace::kPacked, row_blocks * block_size) : nullptr;
  const int64_t panels = panels_of(p.n);
  run_parallel(threads, panels + (copies ? row_blocks : 0), [&](int64_t task) {
    if (task < panels) {
      bf16::pack_panel(second, task, packed);
    } else {
      bf16::copy_pairs(rows_of(task - panels), copied + (task - panels) * block_size);
    }
  });
  run_parallel(threads, row_blocks * column_blocks, [&](int64_t task) {
    const int64_t i = task % row_blocks, j = task / row_blocks;
    const bf16::Matrix rows = rows_of(i);
    const bf16::Pairs pairs =
        copies ? bf16::copied_pairs(rows, copied + i * block_size) : bf16::pairs_of(rows);
    const int64_t place = i * kTaskRows * p.c_m + j * kTaskColumns;
    const bool is_bf16 = p.result == DType::kBF16;
    void* to = is_bf16 ? static_cast<void*>(static_cast<uint16_t*>(c) + place)
                       : static_cast<void*>(static_cast<float*>(c) + place);
    bf16::multiply({.m = rows.rows,
                    .n = std::min(kTaskColumns, p.n - j * kTaskColumns),
                    .k = p.k,
                    .accumulate = p.accumulate},
                   pairs, packed, {to, p.c_m, is_bf16}, j * kTaskColumns / kPanel);
  });
}

}  // namespace tessera::kernels
