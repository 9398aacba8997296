#pragma once

/// Which instructions loops may use.
namespace tessera::kernels {

/// Each has what those before it have.
enum class Processor {
  kAny,        ///< what every x86-64 has
  kAvx2,       ///< 256-bit vectors, fused multiply-add
  kAvx512,     ///< 512-bit vectors
  kAvx512Bf16  ///< products of bf16 that add in f32
};

/// The best that this machine has, or what it was limited to.
Processor processor();
/// Whose it is, which says which of its instructions are quick.
bool is_intel();
/// So that tests and benchmarks see what other machines do: nothing above `most` is used from here
/// on, where it is chosen by processor(). Not while kernels run.
void limit_processor(Processor most);

}  // namespace tessera::kernels
