// Requests that go wrong on their way, one kind after another: what was asked for is done in the
// end, once, or an error says why not.

#include "tests/storage/store_fixture.h"

namespace tessera::storage_testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class FaultTest : public StoreTest {
 protected:
  int count(const std::string& part) {
    int count = 0;
    for (const std::string& line : proxy_.take_requests()) count += line.find(part) == 0;
    return count;
  }
};

TEST_F(FaultTest, ThrottlingAndTheServersTroublesAreOutlived) {
  for (const char* answer :
       {"503 Slow Down\r\n", "500 Internal Server Error\r\n", "502 Bad Gateway\r\n",
        "504 Gateway Timeout\r\n", "429 Too Many Requests\r\n"}) {
    proxy_.add({.times = 4, .only = "PUT", .answer = answer, .body = ""});
    ASSERT_TRUE(write(path("a"), answer).ok()) << answer;
    EXPECT_EQ(count("PUT"), 5);
    proxy_.add({.times = 2, .only = "GET", .answer = answer});
    EXPECT_EQ(*files_.read_file(path("a")), answer);
    EXPECT_EQ(count("GET"), 3);
  }
}

TEST_F(FaultTest, WhatNeverMendsItselfEndsAndSaysHowOftenItWasTried) {
  proxy_.add({.times = 100});
  const Status status = write(path("a"), "text");
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("SlowDown"), HasSubstr("6 tries"), HasSubstr(path("a"))));
  EXPECT_THAT(proxy_.take_requests(), SizeIs(6));
}

TEST_F(FaultTest, ARefusalIsNotTriedAgain) {
  proxy_.add({.times = 100,
              .answer = "403 Forbidden\r\nx-amz-request-id: R123\r\n",
              .body = "<Error><Code>ExpiredToken</Code><Message>m</Message></Error>"});
  const Status status = write(path("a"), "text");
  EXPECT_TRUE(absl::IsPermissionDenied(status));
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("ExpiredToken"), HasSubstr("R123"), HasSubstr("AWS_SESSION_TOKEN")));
  EXPECT_THAT(proxy_.take_requests(), SizeIs(1));
}

TEST_F(FaultTest, ARequestCutInItsMiddleIsSentAgain) {
  const std::string text = bytes(3 << 20);
  proxy_.add({.fault = Fault::kCutRequest, .times = 2, .only = "PUT"});
  ASSERT_TRUE(write(path("a"), text).ok());
  EXPECT_EQ(proxy_.struck(), 2);
  EXPECT_EQ(*files_.read_file(path("a")), text);
}

TEST_F(FaultTest, AnAnswerCutInItsMiddleIsReadOnFromThere) {
  const std::string text = bytes(4 << 20);
  ASSERT_TRUE(write(path("a"), text).ok());
  const auto file = files_.open_file(path("a"));
  ASSERT_TRUE(file.ok());
  std::string out(text.size() - 7, '\0');
  proxy_.add({.fault = Fault::kCutAnswer, .times = 8, .only = "GET"});
  ASSERT_TRUE((*file)->read_at(7, std::as_writable_bytes(std::span(out))).ok())
      << "more often than there are tries, but each got half of the rest";
  EXPECT_EQ(proxy_.struck(), 8);
  EXPECT_TRUE(out == text.substr(7));
}

TEST_F(FaultTest, AnAnswerThatStallsIsGivenUpAndAskedForAgain) {
  const std::string text = bytes(1 << 20);
  ASSERT_TRUE(write(path("a"), text).ok());
  proxy_.add({.fault = Fault::kStallAnswer, .only = "GET"});
  EXPECT_TRUE(*files_.read_file(path("a")) == text);
  EXPECT_EQ(proxy_.struck(), 1);
}

TEST_F(FaultTest, WrongBytesAreNoticedBothWays) {
  const std::string text = bytes(100'000);
  proxy_.add({.fault = Fault::kFlipRequest, .only = "PUT"});
  ASSERT_TRUE(write(path("a"), text).ok());
  proxy_.add({.fault = Fault::kFlipAnswer, .only = "GET"});
  EXPECT_TRUE(*files_.read_file(path("a")) == text);
  EXPECT_EQ(proxy_.struck(), 2) << "each was noticed and mended";
  proxy_.add({.fault = Fault::kFlipAnswer, .times = 100, .only = "GET"});
  const auto never = files_.read_file(path("a"));
  EXPECT_THAT(std::string(never.status().message()), HasSubstr("CRC-32C"));
}

TEST_F(FaultTest, AnAnswerThatIsLostDoesNotMakeItsFileTwice) {
  for (const int times : {1, 3}) {
    const std::string name = path(str_cat("once", times));
    proxy_.add({.fault = Fault::kDropAnswer, .times = times, .only = "PUT"});
    const Status status = files_.create_once(name, "mine");
    EXPECT_TRUE(status.ok()) << "what is there is ours: " << status;
    EXPECT_EQ(*files_.read_file(name), "mine");
    proxy_.add({.fault = Fault::kDropAnswer, .only = "PUT"});
    EXPECT_TRUE(absl::IsAlreadyExists(files_.create_once(name, "yours")));
  }
}

TEST_F(FaultTest, PartsThatFailAreSentAgainAndTheWholeIsPutTogetherOnce) {
  const std::string text = bytes((11 << 20) + 3);
  for (const Fault fault :
       {Fault::kAnswer, Fault::kCutRequest, Fault::kDropAnswer, Fault::kFlipRequest}) {
    proxy_.add({.fault = fault, .times = 2, .only = "partNumber"});
    proxy_.add({.fault = fault == Fault::kFlipRequest ? Fault::kAnswer : fault, .only = "POST"});
    ASSERT_TRUE(write(path("large"), text).ok()) << static_cast<int>(fault);
    EXPECT_TRUE(*files_.read_file(path("large")) == text);
  }
  EXPECT_EQ(proxy_.struck(), 12);
  proxy_.add({.fault = Fault::kDropAnswer, .only = "?uploadId"});
  ASSERT_TRUE(write(path("large"), text).ok()) << "put together, although the answer was lost";
}

TEST_F(FaultTest, APartThatNeverArrivesFailsTheFileAndLeavesNothing) {
  proxy_.add({.times = 1000, .only = "partNumber=2"});
  const Status status = write(path("large"), bytes(12 << 20));
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(*files_.client().list_uploads(*parse_s3_path(path())), SizeIs(0));
  EXPECT_FALSE(files_.exists(path("large")));
}

}  // namespace
}  // namespace tessera::storage_testing
