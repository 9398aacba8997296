#include "tessera/data/unigram.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tessera/data/test_support.h"

namespace tessera {
namespace {

using testing::HasSubstr;

TEST(UnigramTest, IsTheCrossEntropyOfCountsPlusOne) {
  const TempFolder temp;
  const auto store = make_store(temp / "s", {{9, 1, 1, 2}, {9, 1, 3}});
  const UnigramLoss loss = unigram_loss(*store, {.train = {0}, .validation = {1}}).value();
  EXPECT_EQ(loss.train_targets, 3);
  EXPECT_EQ(loss.validation_targets, 2);
  const double all = 3 + 259;  // first tokens of documents are no targets
  EXPECT_DOUBLE_EQ(loss.train_nats_per_token, -(2 * std::log(3 / all) + std::log(2 / all)) / 3);
  EXPECT_DOUBLE_EQ(loss.validation_nats_per_token, -(std::log(3 / all) + std::log(1 / all)) / 2);
}

TEST(UnigramTest, PartsWithoutTargetsAreErrors) {
  const TempFolder temp;
  const auto store = make_store(temp / "s", {{9, 1, 1, 2}, {9}});
  EXPECT_THAT(
      std::string(unigram_loss(*store, {.train = {0}, .validation = {1}}).status().message()),
      HasSubstr("3 training and 0 validation targets"));
  EXPECT_FALSE(unigram_loss(*store, {.train = {}, .validation = {0}}).ok());
}

}  // namespace
}  // namespace tessera
