#include "tessera/runtime/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tessera/base/json.h"
#include "tessera/runtime/runtime_fixture.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using TimelineTest = testing::RuntimeTest;

TEST(Timeline, ASpanBeginsWhenItsDevicesAreFree) {
  FakeClock clock;
  Timeline timeline(3, clock);
  const absl::Time start = clock.now();
  const auto first = timeline.begin({"a", 1, {0, 1}}, {});
  const auto second = timeline.begin({"b", 1, {1, 2}}, {});
  const auto apart = timeline.begin({"c", 1, {5}}, {});
  clock.advance(absl::Seconds(2));
  timeline.end(first, {});
  clock.advance(absl::Seconds(3));
  timeline.end(second, {});
  timeline.end(apart, {});
  const auto records = timeline.records();
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].end - start, absl::Seconds(2));
  EXPECT_EQ(records[1].begin, records[0].end);  // device 1 was busy
  EXPECT_EQ(records[1].end - start, absl::Seconds(5));
  EXPECT_EQ(records[2].begin, start);

  const auto trace = parse_json(timeline.chrome_trace(), "trace");
  ASSERT_TRUE(trace.ok()) << trace.status();
  const Json& event = (*trace)["traceEvents"][1];
  EXPECT_EQ(event["name"], "b");
  EXPECT_EQ(event["ph"], "X");
  EXPECT_EQ(event["pid"], 3);
  EXPECT_EQ(event["tid"], 1);
  EXPECT_DOUBLE_EQ(event["dur"], 3e6);
  EXPECT_DOUBLE_EQ(event["ts"], absl::ToUnixMicros(start) + 2e6);
  EXPECT_EQ(event["args"]["call"], 1);
  EXPECT_EQ(event["args"]["devices"], Json::parse("[1,2]"));
}

TEST_F(TimelineTest, RecordsLaunchesWhileItIsAskedTo) {
  static const RealClock clock;
  const auto timeline = std::make_shared<Timeline>(0, clock);
  const auto from = testing::sharded(*Mesh::create({{"x", 2}}, {0, 1}), {{{"x"}}});
  const auto to = testing::sharded(*Mesh::create({{"x", 2}}, {2, 3}), {{{"x"}}});
  const Array array = put(testing::iota({4}), from);
  ASSERT_TRUE(device_put(*runtime_, array, to).ok());
  runtime_->record(timeline);
  ASSERT_TRUE(device_put(*runtime_, array, to).ok());
  ASSERT_TRUE(device_put(*runtime_, array, to).ok());
  runtime_->record(nullptr);
  ASSERT_TRUE(device_put(*runtime_, array, to).ok());
  const auto records = timeline->records();
  ASSERT_EQ(records.size(), 2u);
  for (const Timeline::Record& record : records) {
    EXPECT_EQ(record.launch.name, "device_put");
    EXPECT_THAT(record.launch.device_ids, ElementsAre(0, 1, 2, 3));
    EXPECT_LE(record.begin, record.end);
    EXPECT_EQ(record.error, "");
  }
  EXPECT_EQ(records[1].launch.call, records[0].launch.call + 1);
  EXPECT_GE(records[1].begin, records[0].end);
}

}  // namespace
}  // namespace tessera
