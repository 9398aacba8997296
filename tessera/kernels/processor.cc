#include "tessera/kernels/processor.h"

#include <algorithm>
#include <atomic>

namespace tessera::kernels {
namespace {

Processor detected() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return Processor::kAny;
  for (const bool has :
       {__builtin_cpu_supports("avx512f") != 0, __builtin_cpu_supports("avx512bw") != 0,
        __builtin_cpu_supports("avx512vl") != 0, __builtin_cpu_supports("avx512dq") != 0}) {
    if (!has) return Processor::kAvx2;
  }
  return __builtin_cpu_supports("avx512bf16") ? Processor::kAvx512Bf16 : Processor::kAvx512;
}

std::atomic<Processor>& current() {
  static std::atomic<Processor> current = detected();
  return current;
}

}  // namespace

Processor processor() { return current().load(std::memory_order_relaxed); }

bool is_intel() {
  static const bool is = [] {
    __builtin_cpu_init();
    return __builtin_cpu_is("intel") != 0;
  }();
  return is;
}

void limit_processor(Processor most) { current() = std::min(detected(), most); }

}  // namespace tessera::kernels
