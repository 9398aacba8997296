#include "tessera/data/sample_order.h"

namespace tessera {

Sample SampleOrder::at(int64_t position) const {
  const int64_t epoch = position / examples_;
  const int64_t index = position % examples_;
  return {epoch, shuffle_ ? static_cast<int64_t>(permutation(epoch)(index)) : index};
}

int64_t SampleOrder::position_of(const Sample& sample) const {
  const int64_t index =
      shuffle_ ? static_cast<int64_t>(permutation(sample.epoch).inverse(sample.example))
               : sample.example;
  return sample.epoch * examples_ + index;
}

}  // namespace tessera
