#include "tessera/kernels/product.h"

#include <omp.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <dnnl.hpp>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <shared_mutex>

#include "tessera/kernels/processor.h"

namespace tessera::kernels {
namespace {

using dnnl::memory;

constexpr int64_t kBlockRows = 128;

dnnl::engine& engine() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::stream& stream() {
  thread_local dnnl::stream stream(engine());
  return stream;
}

bool has_isa(dnnl::cpu_isa isa) {
  const auto bits = static_cast<unsigned>(isa);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & bits) == bits;
}

// Intel's cores without AMX take two products of bf16 at half the pace of one of f32: 80 against
// 173 GFLOP/s were measured. AMD's take them at twice the pace.
bool multiplies_bf16_fast() {
  static const bool fast = has_isa(dnnl::cpu_isa::avx512_core_amx) ||
                           (has_isa(dnnl::cpu_isa::avx512_core_bf16) && !is_intel());
  return fast;
}

memory::data_type data_type(DType dtype) {
  return dtype == DType::kBF16 ? memory::data_type::bf16 : memory::data_type::f32;
}

// oneDNN takes a matrix for plain or transposed by its strides, and wants that of a dim of size 1
// to fit the rest.
memory::desc strided(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride,
                     DType dtype) {
  if (columns == 1 && row_stride != 1) column_stride = 1;
  if (rows == 1) row_stride = column_stride == 1 ? columns : 1;
  return {{rows, columns}, data_type(dtype), memory::dims{row_stride, column_stride}};
}

memory::desc dense(int64_t rows, int64_t columns, DType dtype) {
  return {{rows, columns}, data_type(dtype), memory::format_tag::ab};
}

// oneDNN splits a product over OpenMP's threads, of which each of XLA's threads would have a set of
// its own; so it is told of one, and who calls splits instead. The setting is a thread's own, and
// must hold both where code is compiled and where it runs.
void use_one_thread() {
  thread_local bool set = false;
  if (set) return;
  omp_set_num_threads(1);
  set = true;
}

// oneDNN's own scratch memory is of the thread that compiles, which need not be the one that runs.
dnnl::primitive_attr attributes(bool accumulate) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (accumulate) {
    dnnl::post_ops operations;
    operations.append_sum(1);
    attributes.set_post_ops(operations);
  }
  return attributes;
}

memory view(const memory::desc& desc, const void* data) {
  return memory(desc, engine(), const_cast<void*>(data));
}

memory library_scratch(const memory::desc& desc) {
  return view(desc, scratch(ScratchPlace::kLibrary, desc.get_size()));
}

/// Copies a matrix into another order, type or both.
class Reorder {
 public:
  Reorder(const memory::desc& from, const memory::desc& to)
      : from_(from),
        to_(to),
        code_(engine(), from, engine(), to, attributes(false)),
        scratch_(code_.scratchpad_desc()),
        run_(code_) {}

  void operator()(const void* from, void* to) const {
    run_.execute(stream(), {{DNNL_ARG_FROM, view(from_, from)},
                            {DNNL_ARG_TO, view(to_, to)},
                            {DNNL_ARG_SCRATCHPAD, library_scratch(scratch_)}});
  }

 private:
  memory::desc from_, to_;
  dnnl::reorder::primitive_desc code_;
  memory::desc scratch_;
  dnnl::reorder run_;
};

/// The product of a block of rows.
struct Block {
  memory::desc a, b, c, scratch_desc;
  dnnl::matmul run;
  std::optional<Reorder> widen_a, narrow_c;  ///< where a or c are not taken as they lie

  void operator()(const void* from_a, const void* packed, void* to_c) const {
    const void* a_data = from_a;
    void* c_data = to_c;
    if (widen_a) {
      void* rows = scratch(ScratchPlace::kRows, a.get_size());
      (*widen_a)(from_a, rows);
      a_data = rows;
    }
    if (narrow_c) c_data = scratch(ScratchPlace::kResult, c.get_size());
    run.execute(stream(), {{DNNL_ARG_SRC, view(a, a_data)},
                           {DNNL_ARG_WEIGHTS, view(b, packed)},
                           {DNNL_ARG_DST, view(c, c_data)},
                           {DNNL_ARG_SCRATCHPAD, library_scratch(scratch_desc)}});
    if (narrow_c) (*narrow_c)(c_data, to_c);
  }
};

Block make_block(const Product& p, int64_t rows, DType work, const memory::desc& b) {
  const bool copies_a = work != p.operands || (p.a_k != 1 && p.k > 1 && rows > 1);
  const bool copies_c = work == DType::kF32 && p.result != DType::kF32;
  const memory::desc a_in = strided(rows, p.k, p.a_m, p.a_k, p.operands);
  const memory::desc c_out = strided(rows, p.n, p.c_m, 1, p.result);
  const memory::desc a = copies_a ? dense(rows, p.k, work) : a_in;
  const memory::desc c = copies_c ? dense(rows, p.n, DType::kF32) : c_out;
  const dnnl::matmul::primitive_desc code(dnnl::matmul::desc(a, b, c), attributes(p.accumulate),
                                          engine());
  Block block{a, code.weights_desc(), c, code.scratchpad_desc(), dnnl::matmul(code), {}, {}};
  if (copies_a) block.widen_a.emplace(a_in, a);
  if (copies_c) block.narrow_c.emplace(c, c_out);
  return block;
}

}  // namespace

struct Multiplier::Code {
  Product product;
  Block whole;
  std::optional<Block> last;  ///< of fewer rows
  Reorder pack;

  static std::unique_ptr<const Code> make(const Product& p) {
    const DType work =
        p.operands == DType::kBF16 && !multiplies_bf16_fast() ? DType::kF32 : p.operands;
    // The order that oneDNN likes best for b; where the last rows do not take it, the plain one.
    const memory::desc any({p.k, p.n}, data_type(work), memory::format_tag::any);
    try {
      return with(p, work, any);
    } catch (const dnnl::error&) {
      return with(p, work, dense(p.k, p.n, work));
    }
  }

 private:
  static std::unique_ptr<const Code> with(const Product& p, DType work, const memory::desc& b) {
    Block whole = make_block(p, std::min(p.m, kBlockRows), work, b);
    const int64_t rest = p.m < kBlockRows ? 0 : p.m % kBlockRows;
    std::optional<Block> last;
    if (rest > 0) last.emplace(make_block(p, rest, work, whole.b));
    Reorder pack(strided(p.k, p.n, p.b_k, p.b_n, p.operands), whole.b);
    return std::unique_ptr<const Code>(
        new Code{p, std::move(whole), std::move(last), std::move(pack)});
  }
};

Multiplier::Multiplier(std::unique_ptr<const Code> code) : code_(std::move(code)) {}
Multiplier::~Multiplier() = default;

const Multiplier& Multiplier::of(const Product& product) {
  static std::shared_mutex mutex;
  static std::map<Product, Multiplier> all;
  use_one_thread();
  {
    std::shared_lock lock(mutex);
    const auto found = all.find(product);
    if (found != all.end()) return found->second;
  }
  auto code = Code::make(product);
  std::unique_lock lock(mutex);
  return all.try_emplace(product, std::move(code)).first->second;
}

size_t Multiplier::packed_bytes() const { return code_->whole.b.get_size(); }

void Multiplier::pack(const void* b, void* packed) const {
  use_one_thread();
  code_->pack(b, packed);
}

int64_t Multiplier::block() const { return std::min(code_->product.m, kBlockRows); }

int64_t Multiplier::blocks() const { return (code_->product.m + block() - 1) / block(); }

void Multiplier::rows(int64_t index, const void* a, const void* packed, void* c) const {
  use_one_thread();
  const Product& p = code_->product;
  const int64_t first = index * block();
  const auto* from =
      static_cast<const std::byte*>(a) + first * p.a_m * dtype_host_bytes(p.operands);
  auto* to = static_cast<std::byte*>(c) + first * p.c_m * dtype_host_bytes(p.result);
  const bool is_last = code_->last && index == blocks() - 1;
  (is_last ? *code_->last : code_->whole)(from, packed, to);
}

bool can_multiply(DType operands, DType result) {
  if (operands == DType::kF32) return result == DType::kF32;
  return operands == DType::kBF16 && (result == DType::kF32 || result == DType::kBF16) &&
         has_isa(dnnl::cpu_isa::avx2);
}

void multiply(const Product& product, const void* a, const void* b, void* c) {
  const Multiplier& code = Multiplier::of(product);
  void* packed = scratch(ScratchPlace::kPacked, code.packed_bytes());
  code.pack(b, packed);
  for (int64_t i = 0; i < code.blocks(); ++i) code.rows(i, a, packed, c);
}

void* scratch(ScratchPlace place, size_t bytes) {
  constexpr size_t kPage = 4096, kHugePage = 2 << 20;
  struct Memory {
    void* data = nullptr;
    size_t size = 0;
    ~Memory() { std::free(data); }
  };
  thread_local std::array<Memory, 5> all;
  Memory& memory = all[static_cast<size_t>(place)];
  if (bytes > memory.size) {
    const size_t page = bytes > kHugePage / 2 ? kHugePage : kPage;
    const size_t size = (bytes + page - 1) / page * page;
    std::free(std::exchange(memory.data, nullptr));
    memory.size = 0;
    memory.data = std::aligned_alloc(page, size);
    if (memory.data == nullptr) throw std::bad_alloc();
    if (page == kHugePage) madvise(memory.data, size, MADV_HUGEPAGE);  // advice: never an error
    memory.size = size;
  }
  return memory.data;
}

}  // namespace tessera::kernels
