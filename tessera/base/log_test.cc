#include "tessera/base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using ::testing::HasSubstr;

struct Capture {
  FakeClock clock;
  std::string text;
  LogSink sink{[this](std::string_view part) { text += part; }, clock};
};

TEST(Log, ALineHasTheTimeTheLevelAndOneNewline) {
  Capture capture;
  capture.sink.log(LogLevel::kInfo, "ready");
  capture.sink.log(LogLevel::kWarning, "careful\n");
  const std::string time = absl::FormatTime("%H:%M:%S", capture.clock.now(), absl::LocalTimeZone());
  EXPECT_EQ(capture.text, time + " ready\n" + time + " warning: careful\n");
}

TEST(Log, LinesBelowTheLeastLevelAreLeftOut) {
  Capture capture;
  capture.sink.log(LogLevel::kDebug, "detail");
  EXPECT_EQ(capture.text, "");
  capture.sink.set_least_level(LogLevel::kDebug);
  capture.sink.log(LogLevel::kDebug, "detail");
  EXPECT_THAT(capture.text, HasSubstr("debug: detail\n"));
}

TEST(Log, TheRowStaysBelowTheLines) {
  Capture capture;
  capture.sink.set_row("[==  ] 50%");
  capture.text.clear();
  capture.sink.print("a line");
  EXPECT_EQ(capture.text, "\r\033[Ka line\n[==  ] 50%");
  capture.text.clear();
  capture.sink.set_row("");
  capture.sink.print("another");
  EXPECT_EQ(capture.text, "\r\033[Kanother\n");
}

TEST(Log, AScopedSinkTakesTheProcesssLinesAndGivesThemBack) {
  Capture outer, inner;
  ScopedLogSink first(outer.sink);
  {
    ScopedLogSink second(inner.sink);
    log_info("x is ", 3, " of ", std::string_view("y"));
  }
  log_error("after");
  EXPECT_THAT(inner.text, HasSubstr("x is 3 of y\n"));
  EXPECT_THAT(outer.text, HasSubstr("error: after\n"));
}

TEST(FakeClock, MovesOnlyWhenToldAndSleepReturnsAtOnce) {
  FakeClock clock;
  const absl::Time start = clock.now();
  clock.advance(absl::Seconds(2));
  clock.sleep(absl::Hours(1));
  EXPECT_EQ(clock.now() - start, absl::Hours(1) + absl::Seconds(2));
  EXPECT_EQ(clock.elapsed(), absl::Hours(1) + absl::Seconds(2));
}

TEST(RealClock, NeverGoesBack) {
  RealClock clock;
  const absl::Duration before = clock.elapsed();
  clock.sleep(absl::Milliseconds(1));
  EXPECT_GE(clock.elapsed() - before, absl::Milliseconds(1));
}

}  // namespace
}  // namespace tessera
