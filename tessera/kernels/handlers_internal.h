#pragma once

#include "tessera/kernels/kernel.h"

/// For the .cc files of this folder: one function a kernel, which makes its entry of the table.
namespace tessera {

Kernel attention_kernel();
Kernel matmul_kernel();

}  // namespace tessera
