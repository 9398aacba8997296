// Batches of several sources.

#include <gmock/gmock.h>

#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "tessera/data/batch_loader.h"
#include "tessera/data/first_fit_examples.h"
#include "tessera/data/test_support.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class MixtureTest : public testing::Test {
 protected:
  // `examples` examples of four tokens.
  std::shared_ptr<const ExampleSource> make(const std::string& name, int64_t examples) {
    std::vector<std::vector<int32_t>> documents;
    for (int64_t i = 0; i < examples; ++i)
      documents.push_back({1, 2, 3, static_cast<int32_t>(i % 200)});
    return FirstFitExamples::create(make_store(temp_ / name, documents), std::nullopt, 4).value();
  }
  std::vector<SampleSource> sources(double web = 0.5, double code = 0.3, double books = 0.2) {
    return {{"web", web_, web}, {"code", code_, code}, {"books", books_, books}};
  }
  static std::unique_ptr<BatchLoader> loader(std::vector<SampleSource> sources,
                                             const BatchLoaderOptions& options) {
    return BatchLoader::create(std::move(sources), options).value();
  }

  TempFolder temp_{TempFolder::kMemory};
  std::shared_ptr<const ExampleSource> web_ = make("web", 1000), code_ = make("code", 300),
                                       books_ = make("books", 70);
};

/// Examples by source, in the order in which they came.
using Seen = std::map<int32_t, std::vector<int64_t>>;
void see(const Batch& batch, Seen* seen) {
  for (int64_t row = 0; row < batch.rows; ++row)
    (*seen)[batch.sources[row]].push_back(batch.example_ids[row]);
}

void expect_once_an_epoch(const std::vector<int64_t>& examples, int64_t size) {
  for (int64_t begin = 0; begin < std::ssize(examples); begin += size) {
    const auto end = std::min<int64_t>(begin + size, std::ssize(examples));
    const std::set<int64_t> once(examples.begin() + begin, examples.begin() + end);
    ASSERT_EQ(std::ssize(once), end - begin) << "epoch at " << begin;
  }
}

TEST_F(MixtureTest, EachSourceGoesThroughItsOwnEpochsInProportion) {
  const auto batches = loader(sources(), {.batch_size = 8, .seed = 3});
  Seen seen;
  for (int step = 0; step < 1024; ++step) see(batches->next().value(), &seen);  // two blocks
  EXPECT_EQ(seen[0].size(), 4096u);
  EXPECT_EQ(seen[1].size(), 2458u);
  EXPECT_EQ(seen[2].size(), 1638u);
  expect_once_an_epoch(seen[0], 1000);
  expect_once_an_epoch(seen[1], 300);
  expect_once_an_epoch(seen[2], 70);
}

TEST_F(MixtureTest, TheSequenceDoesNotDependOnBatchesProcessesOrRestarts) {
  std::mt19937_64 random(1);
  const auto whole = loader(sources(), {.batch_size = 1, .seed = 3, .workers = 0});
  for (int round = 0; round < 20; ++round) {
    Json state = loader(sources(), {.seed = 3})->state();
    int64_t position = 0;
    while (position < 600) {
      const int64_t processes = 1 << random() % 3;
      const int64_t batch_size = processes * (1 + static_cast<int64_t>(random() % 5));
      std::vector<std::unique_ptr<BatchLoader>> parts;
      for (int64_t process = 0; process < processes; ++process) {
        std::vector<int64_t> rows;
        for (int64_t row = process; row < batch_size; row += processes) rows.push_back(row);
        parts.push_back(loader(sources(), {.batch_size = batch_size,
                                           .rows = rows,
                                           .seed = 3,
                                           .workers = static_cast<int>(random() % 3)}));
        ASSERT_TRUE(parts.back()->restore(state).ok());
      }
      for (uint64_t steps = 1 + random() % 6; steps > 0; --steps) {
        for (const auto& part : parts) {
          const Batch batch = part->next().value();
          for (int64_t i = 0; i < batch.rows; ++i) {
            const Batch expected = whole->batch_at(position + batch.row_numbers[i]).value();
            ASSERT_EQ(batch.example_ids[i], expected.example_ids[0]);
            ASSERT_EQ(batch.sources[i], expected.sources[0]);
          }
        }
        position += batch_size;
      }
      state = Json::parse(parts.back()->state().dump());
    }
  }
}

TEST_F(MixtureTest, OtherWeightsAndSourcesGoOnAfterWhatWasUsed) {
  Seen seen;
  const auto first = loader(sources(), {.batch_size = 8, .seed = 3});
  for (int step = 0; step < 70; ++step) see(first->next().value(), &seen);
  const auto second = loader(sources(0.1, 0.8, 0.1), {.batch_size = 8, .seed = 3});
  ASSERT_TRUE(second->restore(first->state()).ok());
  EXPECT_EQ(second->tokens_used(), first->tokens_used());
  Seen later;
  for (int step = 0; step < 100; ++step) see(second->next().value(), &later);
  EXPECT_GT(later[1].size(), 550u) << "the new weights are in force";
  // Without the first source, and with a new one.
  std::vector<SampleSource> changed = sources();
  changed.erase(changed.begin());
  changed.push_back({"news", make("news", 500), 1.0});
  const auto third = loader(changed, {.batch_size = 8, .seed = 3});
  ASSERT_TRUE(third->restore(second->state()).ok());
  Seen last;
  for (int step = 0; step < 100; ++step) see(third->next().value(), &last);
  for (const int32_t source : {0, 1, 2})
    seen[source].insert(seen[source].end(), later[source].begin(), later[source].end());
  for (const int32_t source : {0, 1})
    seen[source + 1].insert(seen[source + 1].end(), last[source].begin(), last[source].end());
  expect_once_an_epoch(seen[0], 1000);
  expect_once_an_epoch(seen[1], 300);
  expect_once_an_epoch(seen[2], 70);
  expect_once_an_epoch(last[2], 500);
}

TEST_F(MixtureTest, TheDataEndsWithTheFirstSourceThatDoes) {
  std::vector<SampleSource> ending = sources();
  ending[2].epochs = 2;
  const auto batches = loader(ending, {.batch_size = 8, .seed = 3});
  Seen seen;
  Status status;
  while (true) {
    const auto batch = batches->next();
    status = batch.status();
    if (!batch.ok()) break;
    see(*batch, &seen);
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("all 2 epochs of 70 examples of source books are used"));
  std::erase(seen[2], -1);
  EXPECT_EQ(seen[2].size(), 140u);
  expect_once_an_epoch(seen[2], 70);
}

TEST_F(MixtureTest, SaysWhatIsWrong) {
  const auto error = [](const Status& status) { return std::string(status.message()); };
  const auto created = [&](std::vector<SampleSource> of, int64_t batch_size = 8) {
    return error(BatchLoader::create(std::move(of), {.batch_size = batch_size}).status());
  };
  EXPECT_THAT(created(sources(1, 0)), HasSubstr("weight 0"));
  EXPECT_THAT(created(sources(), 400), AllOf(HasSubstr("70 examples of 4 tokens in source books"),
                                             HasSubstr("batch of 400")));
  EXPECT_THAT(created({{"a", web_}, {"a", code_}}), HasSubstr("two sources are named a"));
  const Json state = loader(sources(), {.seed = 3})->state();
  const auto restored = [&](std::vector<SampleSource> of, uint64_t seed = 3) {
    return error(loader(std::move(of), {.seed = seed})->restore(state));
  };
  EXPECT_THAT(restored(sources(), 4), HasSubstr("seed = 3, this run has 4"));
  EXPECT_THAT(restored({{"web", books_}, {"code", code_}}),
              AllOf(HasSubstr("data.mixture.web does not hold"), HasSubstr("choose another")));
  EXPECT_THAT(restored({{"", web_}}), HasSubstr("is of a run with data.mixture"));
  EXPECT_THAT(error(loader(sources(), {})->restore(loader({{"", web_}}, {})->state())),
              HasSubstr("is of a run of one store"));
}

TEST_F(MixtureTest, MoreEpochsThanCanBeCountedAreWithoutEnd) {
  std::vector<SampleSource> of = sources();
  of[0].epochs = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(loader(of, {})->batches_left(), -1);
  EXPECT_EQ(loader({{"", web_, 1, int64_t{1} << 60}}, {})->batches_left(), -1);
}

}  // namespace
}  // namespace tessera
