#include "tessera/data/permutation.h"

#include <gmock/gmock.h>

#include <set>
#include <vector>

namespace tessera {
namespace {

using testing::ElementsAre;

std::vector<uint64_t> all(uint64_t size, uint64_t key) {
  const KeyedPermutation permutation(size, key);
  std::vector<uint64_t> elements;
  for (uint64_t i = 0; i < size; ++i) elements.push_back(permutation(i));
  return elements;
}

TEST(KeyedPermutationTest, EveryElementStandsAtExactlyOneIndex) {
  std::vector<uint64_t> sizes = {1000, 1024, 1025, 4096, 65535, 65536, 65537, 100003};
  for (uint64_t size = 1; size <= 130; ++size) sizes.push_back(size);
  for (const uint64_t size : sizes) {
    for (const uint64_t key : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
      std::vector<bool> seen(size, false);
      for (const uint64_t element : all(size, key)) {
        ASSERT_LT(element, size);
        ASSERT_FALSE(seen[element]) << "size " << size << " key " << key;
        seen[element] = true;
      }
    }
  }
}

TEST(KeyedPermutationTest, InverseFindsTheIndex) {
  for (const uint64_t size :
       {uint64_t{1}, uint64_t{7}, uint64_t{100003}, uint64_t{1} << 40, uint64_t{1} << 62}) {
    const KeyedPermutation permutation(size, 42);
    for (uint64_t i = 0; i < 500; ++i) {
      const uint64_t index = mix64(i) % size;
      ASSERT_LT(permutation(index), size);
      ASSERT_EQ(permutation.inverse(permutation(index)), index);
    }
  }
}

// Checkpoints hold positions in this order: a change here is a change of every run's data.
TEST(KeyedPermutationTest, IsTheSameForEver) {
  EXPECT_THAT(all(10, 0), ElementsAre(6, 4, 1, 3, 0, 2, 7, 5, 8, 9));
  EXPECT_EQ(KeyedPermutation(1'000'000'007, 12345)(0), 762749877u);
  EXPECT_EQ(KeyedPermutation(1'000'000'007, 12345)(1'000'000'006), 741923838u);
}

TEST(KeyedPermutationTest, SmallSizesReachEveryPermutation) {
  std::set<std::vector<uint64_t>> seen;
  for (uint64_t key = 0; key < 1000; ++key) seen.insert(all(4, key));
  EXPECT_EQ(seen.size(), 24u);
}

// Over many keys each element must stand at each index equally often: a chi-squared test with 399
// degrees of freedom stays below 520 with probability above 0.9999 for a fair shuffle; the keys are
// fixed.
TEST(KeyedPermutationTest, ElementsAreSpreadEvenlyOverIndices) {
  constexpr int kSize = 20;
  constexpr int kKeys = 20000;
  std::vector<int> counts(kSize * kSize, 0);
  for (int key = 0; key < kKeys; ++key) {
    const std::vector<uint64_t> elements = all(kSize, key);
    for (int i = 0; i < kSize; ++i) ++counts[i * kSize + elements[i]];
  }
  constexpr double kExpected = double{kKeys} / kSize;
  double chi_squared = 0;
  for (const int count : counts)
    chi_squared += (count - kExpected) * (count - kExpected) / kExpected;
  EXPECT_LT(chi_squared, 520);
}

// Neighbours must not stay neighbours: of 10,000 pairs a fair shuffle keeps about two beside each
// other.
TEST(KeyedPermutationTest, NeighboursAreTornApart) {
  const std::vector<uint64_t> elements = all(10'000, 7);
  int kept = 0;
  for (size_t i = 1; i < elements.size(); ++i) {
    const int64_t distance =
        static_cast<int64_t>(elements[i]) - static_cast<int64_t>(elements[i - 1]);
    if (distance == 1 || distance == -1) ++kept;
  }
  EXPECT_LT(kept, 15);
}

}  // namespace
}  // namespace tessera
