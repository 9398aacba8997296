#include "tessera/data/document_split.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace tessera {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

TEST(DocumentSplitTest, EveryDocumentIsInExactlyOnePart) {
  for (const int64_t documents : {2, 3, 10, 512, 10007}) {
    for (const uint64_t seed : {0, 1, 99}) {
      const DocumentSplit split =
          split_documents(documents, {.fraction = 0.1, .seed = seed}).value();
      std::vector<uint64_t> all(documents);
      std::merge(split.train.begin(), split.train.end(), split.validation.begin(),
                 split.validation.end(), all.begin());
      for (int64_t i = 0; i < documents; ++i) ASSERT_EQ(all[i], static_cast<uint64_t>(i));
    }
  }
}

TEST(DocumentSplitTest, HoldsOutTheShareOrTheCountAskedFor) {
  EXPECT_THAT(split_documents(512, {.fraction = 0.05})->validation, SizeIs(26));
  EXPECT_THAT(split_documents(512, {.fraction = 1e-6})->validation, SizeIs(1)) << "at least one";
  EXPECT_THAT(split_documents(512, {.count = 7})->validation, SizeIs(7));
  EXPECT_THAT(split_documents(512, {})->validation, SizeIs(0));
}

TEST(DocumentSplitTest, DependsOnTheSeedAlone) {
  const auto held_out = [](uint64_t seed) {
    return split_documents(1000, {.count = 50, .seed = seed})->validation;
  };
  EXPECT_EQ(held_out(1), held_out(1));
  EXPECT_NE(held_out(1), held_out(2));
}

TEST(DocumentSplitTest, ContradictionsAreErrors) {
  const auto error = [](int64_t documents, const ValidationOptions& options) {
    return std::string(split_documents(documents, options).status().message());
  };
  EXPECT_THAT(error(10, {.fraction = 0.1, .count = 1}), HasSubstr("not both"));
  EXPECT_THAT(error(10, {.fraction = 1.0}), HasSubstr("fraction is 1"));
  EXPECT_THAT(error(10, {.fraction = -0.1}), HasSubstr("fraction is -0.1"));
  EXPECT_THAT(error(10, {.count = -1}), HasSubstr("count is -1"));
  EXPECT_THAT(error(10, {.count = 10}), HasSubstr("10 of 10"));
  EXPECT_THAT(error(1, {.fraction = 0.1}), HasSubstr("1 of 1"));
  EXPECT_THAT(error(0, {}), HasSubstr("no document"));
}

}  // namespace
}  // namespace tessera
