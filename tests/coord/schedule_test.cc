// Spec 3.3: random schedules against the coordinator's decisions; every reply keeps the promises.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/base/strings.h"
#include "tests/coord/schedule_check.h"
#include "tests/coord/schedule_world.h"

namespace tessera::coord {
namespace {

constexpr int kParts = 4;
constexpr int kSchedulesAPart = 2600;

class Spec33Schedules : public testing::TestWithParam<int> {};

TEST_P(Spec33Schedules, KeepEveryPromise) {
  int64_t rounds = 0, barriers = 0, restarts = 0, smaller = 0, fenced = 0, failed = 0;
  for (int i = 0; i < kSchedulesAPart; ++i) {
    const uint64_t seed = static_cast<uint64_t>(GetParam()) * kSchedulesAPart + i;
    const History history = run_schedule(seed);
    const std::optional<std::string> broken = broken_promise(history);
    ASSERT_FALSE(broken) << "seed " << seed << ": " << *broken;
    for (const CallRecord& call : history.calls) {
      const bool good = call.answered != kNever && call.code == 0;
      rounds += call.kind == CallRecord::kLiveSet && good;
      smaller +=
          call.kind == CallRecord::kLiveSet && good && call.members.size() < call.processes.size();
      barriers += call.kind == CallRecord::kBarrier && good;
      fenced += call.fenced;
    }
    restarts += static_cast<int64_t>(history.instances.size());
    failed += !history.recoverable;
  }
  // The schedules reach what they are about.
  EXPECT_GT(rounds, 10 * kSchedulesAPart);
  EXPECT_GT(smaller, kSchedulesAPart);
  EXPECT_GT(barriers, kSchedulesAPart / 4);
  EXPECT_GT(restarts, 4 * kSchedulesAPart);
  EXPECT_GT(fenced, kSchedulesAPart / 2);
  EXPECT_GT(failed, kSchedulesAPart / 20);
  RecordProperty("live_set_replies", str_cat(rounds));
  RecordProperty("without_some", str_cat(smaller));
}

INSTANTIATE_TEST_SUITE_P(Part, Spec33Schedules, testing::Range(0, kParts));

// A checker that finds nothing proves nothing: each mistake is found, and under its name.
struct Seeded {
  Bug bug;
  const char* name;
  const char* found_as;  // one of these words begins the finding
};

class Spec33Checker : public testing::TestWithParam<Seeded> {};

TEST_P(Spec33Checker, NoticesAMistake) {
  constexpr uint64_t kMost = 1500;
  for (uint64_t seed = 0; seed < kMost; ++seed) {
    const std::optional<std::string> broken = broken_promise(run_schedule(seed, GetParam().bug));
    if (!broken) continue;
    EXPECT_THAT(*broken, testing::ContainsRegex(GetParam().found_as)) << "seed " << seed;
    return;
  }
  FAIL() << kMost << " schedules, and nothing was noticed";
}

INSTANTIATE_TEST_SUITE_P(
    Bug, Spec33Checker,
    testing::Values(
        Seeded{Bug::kAppliesCopies, "AppliesCopies", "^(key-values|live set|agreement)"},
        Seeded{Bug::kForgetsFence, "ForgetsFence", "^(fencing|live set|agreement)"},
        Seeded{Bug::kLosesLastBatch, "LosesLastBatch", "^(key-values|agreement|barrier)"},
        Seeded{Bug::kRepliesBeforeStoring, "RepliesBeforeStoring",
               "^(key-values|agreement|barrier)"},
        Seeded{Bug::kTellsOneLess, "TellsOneLess", "^agreement"},
        Seeded{Bug::kLiveSetTooEarly, "LiveSetTooEarly", "^live set"},
        Seeded{Bug::kListsTheDead, "ListsTheDead", "^live set"},
        Seeded{Bug::kReusesBarriers, "ReusesBarriers", "^barrier"},
        Seeded{Bug::kBarrierTooEarly, "BarrierTooEarly", "^barrier"},
        Seeded{Bug::kDropsInserts, "DropsInserts", "^key-values"},
        Seeded{Bug::kNeverFindsDead, "NeverFindsDead", "^progress"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tessera::coord
