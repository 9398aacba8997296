#pragma once

#include "tessera/kernels/kernel.h"

/// For the .cc files of this folder: one function a kernel, which makes its entry of the table.
namespace tessera {

Kernel adamw_kernel();
Kernel attention_kernel();
Kernel cross_entropy_kernel();
Kernel matmul_kernel();
Kernel rms_norm_kernel();
Kernel swiglu_kernel();

}  // namespace tessera
