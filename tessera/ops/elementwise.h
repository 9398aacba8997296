#pragma once

// All operations that work element by element.
#include "tessera/ops/elementwise_binary.h"
#include "tessera/ops/elementwise_unary.h"
