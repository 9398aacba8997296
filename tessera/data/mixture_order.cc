#include "tessera/data/mixture_order.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tessera/data/permutation.h"

namespace tessera {
namespace {

// Whole places in the proportion of the weights: rounded down, and what is left to those that lost
// most by it.
std::vector<int64_t> share_places(std::span<const double> weights) {
  // As parts of the largest: the sum of weights themselves may be too large for a double.
  const double largest = *std::max_element(weights.begin(), weights.end());
  double total = 0;
  for (const double weight : weights) total += weight / largest;
  std::vector<int64_t> places;
  std::vector<std::pair<double, size_t>> lost;
  int64_t left = kMixtureBlock;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double exact = weights[i] / largest / total * static_cast<double>(kMixtureBlock);
    places.push_back(static_cast<int64_t>(std::floor(exact)));
    left -= places.back();
    lost.emplace_back(std::floor(exact) - exact, i);
  }
  std::sort(lost.begin(), lost.end());
  for (int64_t i = 0; i < left; ++i) ++places[lost[static_cast<size_t>(i)].second];
  return places;
}

// Each source's places in the middle of equal parts of the block.
std::vector<int32_t> spread(std::span<const int64_t> places) {
  std::vector<std::pair<double, int32_t>> order;
  for (size_t source = 0; source < places.size(); ++source) {
    for (int64_t i = 0; i < places[source]; ++i) {
      order.emplace_back((static_cast<double>(i) + 0.5) / static_cast<double>(places[source]),
                         static_cast<int32_t>(source));
    }
  }
  std::sort(order.begin(), order.end());
  std::vector<int32_t> sources;
  for (const auto& [at, source] : order) sources.push_back(source);
  return sources;
}

}  // namespace

Result<std::unique_ptr<MixtureOrder>> MixtureOrder::create(std::span<const double> weights,
                                                           uint64_t seed, bool shuffle,
                                                           std::span<const std::string> names) {
  const auto name = [&](size_t i) { return i < names.size() ? names[i] : std::to_string(i); };
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] > 0) || !std::isfinite(weights[i]))
      return invalid_argument("the weight ", weights[i], " of source ", name(i), " is not above 0");
  }
  if (weights.empty()) return invalid_argument("a mixture needs at least one source");
  std::vector<int64_t> places = share_places(weights);
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] == 0)
      return invalid_argument("the weight ", weights[i], " of source ", name(i),
                              " is less than one example in ", kMixtureBlock,
                              ": raise it, or leave the source out");
  }
  return std::unique_ptr<MixtureOrder>(new MixtureOrder(std::move(places), seed, shuffle));
}

MixtureOrder::MixtureOrder(std::vector<int64_t> places, uint64_t seed, bool shuffle)
    : places_(std::move(places)), seed_(seed), shuffle_(shuffle), even_(spread(places_)) {}

std::shared_ptr<const MixtureOrder::Block> MixtureOrder::make_block(int64_t number) const {
  auto made = std::make_shared<Block>();
  made->number = number;
  made->sources = even_;
  if (shuffle_) {
    const KeyedPermutation permutation(
        kMixtureBlock, mix64(mix64(seed_ ^ 0x6d697874757265) ^ static_cast<uint64_t>(number)));
    for (size_t i = 0; i < even_.size(); ++i) made->sources[i] = even_[permutation(i)];
  }
  std::vector<int32_t> seen(places_.size());
  for (const int32_t source : made->sources)
    made->ranks.push_back(seen[static_cast<size_t>(source)]++);
  return made;
}

// The last one is kept: neighbours are asked for one after another.
std::shared_ptr<const MixtureOrder::Block> MixtureOrder::block(int64_t number) const {
  {
    const std::lock_guard lock(mutex_);
    if (last_ && last_->number == number) return last_;
  }
  std::shared_ptr<const Block> made = make_block(number);
  const std::lock_guard lock(mutex_);
  last_ = made;
  return made;
}

MixtureOrder::Place MixtureOrder::at(int64_t position) const {
  const std::shared_ptr<const Block> in = block(position / kMixtureBlock);
  const auto place = static_cast<size_t>(position % kMixtureBlock);
  const int32_t source = in->sources[place];
  return {source, in->number * places_[static_cast<size_t>(source)] + in->ranks[place]};
}

int64_t MixtureOrder::used(int32_t source, int64_t position) const {
  const std::shared_ptr<const Block> in = block(position / kMixtureBlock);
  const auto end = in->sources.begin() + position % kMixtureBlock;
  return in->number * places_[static_cast<size_t>(source)] +
         std::count(in->sources.begin(), end, source);
}

int64_t MixtureOrder::position_of(int32_t source, int64_t index) const {
  const int64_t places = places_[static_cast<size_t>(source)];
  const std::shared_ptr<const Block> in = block(index / places);
  for (size_t place = 0; place < in->sources.size(); ++place) {
    if (in->sources[place] == source && in->ranks[place] == index % places)
      return in->number * kMixtureBlock + static_cast<int64_t>(place);
  }
  return -1;  // not reached: every source has all its ranks in each block
}

}  // namespace tessera
