#pragma once

#include <algorithm>
#include <random>
#include <string>

#include "tessera/base/strings.h"
#include "tessera/kernels/processor.h"

namespace tessera::kernels {

/// While it lives, loops of ours are those of one of the processors there are up to this machine's,
/// at random: so the code for older ones is tested on newer ones.
class LimitedProcessor {
 public:
  explicit LimitedProcessor(std::mt19937_64& random) : level_(static_cast<int>(random() % 6)) {
    limit_processor(static_cast<Processor>(std::min(level_, 3)));
  }
  ~LimitedProcessor() { limit_processor(Processor::kAvx512Bf16); }
  std::string text() const { return str_cat("processor up to level ", level_); }

 private:
  int level_;
};

}  // namespace tessera::kernels
