#include "tessera/coord/state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/coord/state_testing.h"

namespace tessera::coord {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr StateOptions kThree = {.processes = 3, .heartbeat_timeout = absl::Seconds(10)};
constexpr StateOptions kRecoverable = {
    .processes = 3, .recoverable = true, .heartbeat_timeout = absl::Seconds(10)};

std::string message(const Status& status) { return std::string(from_absl(status.message())); }

std::vector<int> live(const wire::Reply& reply) {
  std::vector<int> processes;
  for (const wire::Member& member : reply.members()) processes.push_back(member.process());
  return processes;
}

// Key-values. Spec 3, service semantics, and 3.5: all key-value error codes.

TEST(Spec3KeyValues, AreInsertedOnceUnlessOverwritten) {
  StateDriver driver(kThree);
  driver.join_all();
  EXPECT_TRUE(driver.status(driver.send(0, insert_request("a", "1"))).ok());
  const Status again = driver.status(driver.send(1, insert_request("a", "2")));
  EXPECT_EQ(again.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(message(again), HasSubstr("'a'"));
  EXPECT_EQ(driver.reply(driver.send(2, get_request("a")))->value(), "1");
  EXPECT_TRUE(driver.status(driver.send(1, insert_request("a", "2", true))).ok());
  EXPECT_EQ(driver.reply(driver.send(2, get_request("a")))->value(), "2");
}

TEST(Spec3KeyValues, AreWaitedForUntilTheTimeout) {
  StateDriver driver(kThree);
  driver.join_all();
  EXPECT_EQ(driver.status(driver.send(0, get_request("a"))).code(), absl::StatusCode::kNotFound);
  const CallId waits = driver.send(0, get_request("a", 2000));
  const CallId waits_longer = driver.send(1, get_request("a", 5000));
  driver.pass(absl::Milliseconds(1999), {});
  EXPECT_FALSE(driver.reply(waits));
  driver.pass(absl::Milliseconds(1), {});
  EXPECT_EQ(driver.status(waits).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(message(driver.status(waits)), HasSubstr("'a' got no value within 2s"));
  driver.send(2, insert_request("a", "1"));
  EXPECT_EQ(driver.reply(waits_longer)->value(), "1");
}

TEST(Spec3KeyValues, AreIncrementedFromZero) {
  StateDriver driver(kThree);
  driver.join_all();
  EXPECT_EQ(driver.reply(driver.send(0, increment_request("n", 5)))->number(), 5);
  EXPECT_EQ(driver.reply(driver.send(1, increment_request("n", -7)))->number(), -2);
  EXPECT_EQ(driver.reply(driver.send(1, get_request("n")))->value(), "-2");
  driver.send(0, insert_request("text", "x"));
  EXPECT_EQ(driver.status(driver.send(0, increment_request("text", 1))).code(),
            absl::StatusCode::kInvalidArgument);
  driver.send(0, insert_request("big", "9223372036854775807"));
  EXPECT_EQ(driver.status(driver.send(0, increment_request("big", 1))).code(),
            absl::StatusCode::kOutOfRange);
}

TEST(Spec3KeyValues, AreListedAndErasedByPrefix) {
  StateDriver driver(kThree);
  driver.join_all();
  for (const char* key : {"a/1", "a/2", "ab", "b"}) driver.send(0, insert_request(key, key));
  const auto listed = driver.reply(driver.send(1, list_request("a/")));
  ASSERT_EQ(listed->pairs_size(), 2);
  EXPECT_EQ(listed->pairs(1).key(), "a/2");
  EXPECT_EQ(driver.reply(driver.send(1, erase_request("a/", true)))->number(), 2);
  EXPECT_EQ(driver.reply(driver.send(1, erase_request("nothing", false)))->number(), 0);
  EXPECT_EQ(driver.reply(driver.send(2, list_request("")))->pairs_size(), 2);
}

TEST(Spec3KeyValues, HoldTenValuesOfAMebibyteAndOneOfTen) {
  StateDriver driver(kThree);
  driver.join_all();
  for (int i = 0; i < 10; ++i) {
    const std::string key = str_cat("k", i);
    EXPECT_TRUE(
        driver.status(driver.send(0, insert_request(key, std::string(1 << 20, 'a' + i)))).ok());
  }
  const std::string large(10 << 20, 'z');
  EXPECT_TRUE(driver.status(driver.send(0, insert_request("large", large))).ok());
  EXPECT_EQ(driver.reply(driver.send(1, get_request("large")))->value(), large);
  EXPECT_EQ(driver.reply(driver.send(1, get_request("k3")))->value(), std::string(1 << 20, 'd'));
}

TEST(KeyValues, AreRefusedBeyondTheLimits) {
  StateOptions options = kThree;
  options.limits = {.key_bytes = 10, .value_bytes = 20, .total_bytes = 50};
  StateDriver driver(options);
  driver.join_all();
  EXPECT_EQ(driver.status(driver.send(0, insert_request("", "x"))).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(message(driver.status(driver.send(0, insert_request("12345678901", "x")))),
              HasSubstr("has 11 bytes; at most: 10 bytes"));
  EXPECT_THAT(message(driver.status(driver.send(0, insert_request("k", std::string(21, 'x'))))),
              HasSubstr("at most: 20 bytes"));
  EXPECT_TRUE(driver.status(driver.send(0, insert_request("k", std::string(20, 'x')))).ok());
  EXPECT_TRUE(driver.status(driver.send(0, insert_request("l", std::string(20, 'x')))).ok());
  const Status full = driver.status(driver.send(0, insert_request("m", std::string(8, 'x'))));
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  // What replaces a value counts only the difference.
  EXPECT_TRUE(driver.status(driver.send(0, insert_request("l", std::string(18, 'x'), true))).ok());
  EXPECT_EQ(driver.state().key_values().total_bytes(), 40);
}

TEST(KeyValues, AreChangedOnceByCopiesOfACall) {
  StateDriver driver(kThree);
  driver.join_all();
  const CallId first = driver.send(0, increment_request("n", 1));
  const CallId copy = driver.resend(driver.sent(first));
  EXPECT_EQ(driver.reply(copy)->number(), 1);
  const CallId insert = driver.send(0, insert_request("k", "v"));
  EXPECT_TRUE(driver.status(driver.resend(driver.sent(insert))).ok());
  // A copy that comes after its process said that it has the reply changes nothing.
  wire::Request later = driver.sent(driver.send(0, heartbeat_request()));
  later.mutable_caller()->set_oldest_open(3);
  driver.resend(later);
  EXPECT_EQ(driver.status(driver.resend(driver.sent(first))).code(), absl::StatusCode::kAborted);
  EXPECT_EQ(driver.reply(driver.send(1, get_request("n")))->value(), "1");
}

// Barriers. Spec 3, service semantics, and 3.5.

TEST(Spec35Barrier, EndsForAllWhenAllHaveArrived) {
  StateDriver driver(kThree);
  driver.join_all();
  const CallId a = driver.send(0, barrier_request("b", {}, 1000));
  const CallId b = driver.send(1, barrier_request("b", {}, 1000));
  EXPECT_FALSE(driver.reply(a));
  const CallId c = driver.send(2, barrier_request("b", {0, 1, 2}, 1000));
  for (const CallId call : {a, b, c}) EXPECT_TRUE(driver.status(call).ok());
}

TEST(Spec35Barrier, OfTwoProcessesIgnoresTheThird) {
  StateDriver driver(kThree);
  driver.join_all();
  const CallId a = driver.send(0, barrier_request("b", {0, 2}, 1000));
  const CallId c = driver.send(2, barrier_request("b", {2, 0}, 1000));
  EXPECT_TRUE(driver.status(a).ok());
  EXPECT_TRUE(driver.status(c).ok());
}

TEST(Spec35Barrier, IsSingleUseAndTellsTheEarlierResultAgain) {
  StateDriver driver(kThree);
  driver.join_all();
  driver.send(0, barrier_request("b", {0}, 1000));
  EXPECT_TRUE(driver.status(driver.send(0, barrier_request("b", {0}, 1000))).ok());
  const CallId late = driver.send(0, barrier_request("c", {0, 1}, 1000));
  driver.pass(absl::Seconds(1), {});
  EXPECT_EQ(driver.status(late).code(), absl::StatusCode::kDeadlineExceeded);
  const Status again = driver.status(driver.send(1, barrier_request("c", {0, 1}, 1000)));
  EXPECT_EQ(again, driver.status(late));
}

TEST(Spec35Barrier, TimesOutAfterTheFirstArrivalAndNamesWhoIsMissing) {
  StateDriver driver(kThree);
  driver.join_all();
  const CallId a = driver.send(0, barrier_request("b", {}, 3000));
  driver.pass(absl::Seconds(2), {0, 1, 2});
  const CallId b = driver.send(1, barrier_request("b", {}, 60'000));
  driver.pass(absl::Seconds(1), {});
  EXPECT_EQ(driver.status(a).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(message(driver.status(b)),
              HasSubstr("2 of 3 processes arrived within 3s of the first; missing: process 2 "
                        "(host2)"));
}

TEST(Spec35Barrier, FailsForAllWhenListsDiffer) {
  StateDriver driver(kThree);
  driver.join_all();
  const CallId a = driver.send(0, barrier_request("b", {0, 1}, 1000));
  const CallId b = driver.send(1, barrier_request("b", {1, 2, 0}, 1000));
  EXPECT_EQ(driver.status(a).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(driver.status(b).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(message(driver.status(b)), HasSubstr("gave another list"));
}

TEST(Spec35Barrier, FailsForAllWhenAnOutsiderCalls) {
  StateDriver driver(kThree);
  driver.join_all();
  const CallId a = driver.send(0, barrier_request("b", {0, 1}, 1000));
  const CallId c = driver.send(2, barrier_request("b", {0, 1}, 1000));
  EXPECT_EQ(driver.status(c).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(message(driver.status(c)), HasSubstr("process 2 (host2) called it, but is not in"));
  EXPECT_EQ(driver.status(a).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(driver.status(driver.send(1, barrier_request("b", {0, 1}, 1000))).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(driver.status(driver.send(1, barrier_request("c", {1, 9}, 1000))).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(driver.status(driver.send(1, barrier_request("", {}, 1000))).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(driver.status(driver.send(1, barrier_request("d", {}, -1))).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(Spec35Barrier, CanBeCancelled) {
  StateDriver driver(kThree);
  driver.join_all();
  const CallId a = driver.send(0, barrier_request("b", {}, 1000));
  EXPECT_TRUE(driver.status(driver.send(1, cancel_request("b"))).ok());
  EXPECT_EQ(driver.status(a).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(driver.status(driver.send(2, barrier_request("b", {}, 1000))).code(),
            absl::StatusCode::kCancelled);
  EXPECT_EQ(driver.status(driver.send(1, cancel_request("b"))).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(driver.status(driver.send(1, cancel_request("unknown"))).code(),
            absl::StatusCode::kNotFound);
}

TEST(Spec35Barrier, FailsWithInternalWhenAParticipantDies) {
  StateDriver driver(kRecoverable);
  driver.join_all();
  const CallId a = driver.send(0, barrier_request("b", {}, 60'000));
  const CallId apart = driver.send(1, barrier_request("other", {0, 1}, 60'000));
  driver.pass(absl::Seconds(9), {});
  driver.pass(absl::Seconds(9), {0, 1});
  EXPECT_EQ(driver.status(a).code(), absl::StatusCode::kInternal);
  EXPECT_THAT(message(driver.status(a)), HasSubstr("process 2 (host2) died"));
  EXPECT_FALSE(driver.reply(apart));
  EXPECT_EQ(driver.status(driver.send(0, barrier_request("c", {0, 2}, 1000))).code(),
            absl::StatusCode::kInternal);
  // No list: all that are connected.
  driver.send(0, barrier_request("d", {}, 1000));
  EXPECT_TRUE(driver.status(driver.send(1, barrier_request("d", {}, 1000))).ok());
}

TEST(Spec35Barrier, IsLeftByTheOldSelfOfARestartedProcess) {
  StateDriver driver(kRecoverable);
  driver.join_all();
  const CallId old = driver.send(2, barrier_request("b", {}, 60'000));
  driver.join(2);
  EXPECT_EQ(driver.status(old).code(), absl::StatusCode::kAborted);
  const CallId a = driver.send(0, barrier_request("b", {}, 60'000));
  const CallId b = driver.send(1, barrier_request("b", {}, 60'000));
  EXPECT_FALSE(driver.reply(a));
  EXPECT_TRUE(driver.status(driver.send(2, barrier_request("b", {}, 60'000))).ok());
  EXPECT_TRUE(driver.status(b).ok());
}

TEST(Barrier, RemembersOnlySoManyResults) {
  StateOptions options = kThree;
  options.max_ended_barriers = 2;
  StateDriver driver(options);
  driver.join_all();
  for (const char* id : {"a", "b", "c"}) driver.send(0, barrier_request(id, {0}, 1000));
  EXPECT_TRUE(driver.status(driver.send(1, barrier_request("c", {0}, 1000))).ok());
  // "a" is forgotten, so this is a new barrier, called by an outsider.
  EXPECT_EQ(driver.status(driver.send(1, barrier_request("a", {0}, 1000))).code(),
            absl::StatusCode::kInvalidArgument);
}

// Members. Spec 1.2, 3.1, 3.4.

TEST(Spec12Register, RefusesWrongNumbers) {
  StateDriver driver(kThree);
  const Status outside = status_of(driver.join_as(3, 5));
  EXPECT_EQ(outside.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(message(outside), HasSubstr("process 3 was given; required: from 0 to 2"));
  EXPECT_EQ(status_of(driver.join_as(-1, 5)).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status_of(driver.join_as(0, 0)).code(), absl::StatusCode::kInvalidArgument);
  wire::Request other_count;
  other_count.mutable_caller()->set_process(1);
  other_count.mutable_caller()->set_incarnation(5);
  other_count.mutable_register_()->set_processes(4);
  EXPECT_THAT(message(driver.status(driver.resend(other_count))),
              HasSubstr("started for 3 processes, process 1 for 4"));
}

TEST(Spec12Register, RefusesASecondProcessWithTheSameNumber) {
  StateDriver driver(kThree);
  driver.join_all();
  EXPECT_TRUE(status_of(driver.join_as(1, 101)).ok());  // the same again: a copy
  const wire::Reply second = driver.join_as(1, 555);
  EXPECT_EQ(status_of(second).code(), absl::StatusCode::kAborted);
  EXPECT_TRUE(second.fenced());
  EXPECT_THAT(second.message(), HasSubstr("process 1 (host1) is connected already"));
}

TEST(Spec12Register, NamesWhoDidNotComeInTime) {
  StateDriver driver(kThree);
  driver.join(1);
  const CallId waits = driver.send(1, ready_request(5000));
  driver.pass(absl::Seconds(5), {1});
  EXPECT_EQ(driver.status(waits).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(message(driver.status(waits)),
              HasSubstr("1 of 3 processes connected within 5s; missing: process 0, process 2"));
  const CallId waits_again = driver.send(1, ready_request(5000));
  driver.join(0);
  EXPECT_FALSE(driver.reply(waits_again));
  driver.join(2);
  EXPECT_TRUE(driver.status(waits_again).ok());
}

TEST(Spec31Death, EndsTheClusterAndNamesTheDead) {
  StateDriver driver(kThree);
  driver.join_all();
  const CallId watch = driver.send(0, watch_request(3));
  const CallId get = driver.send(0, get_request("a", 60'000));
  driver.pass(absl::Seconds(5), {0, 1, 2});
  driver.pass(absl::Milliseconds(4999), {0, 1});
  EXPECT_FALSE(driver.reply(watch));
  driver.pass(absl::Milliseconds(1), {0, 1});
  const wire::Reply pushed = *driver.reply(watch);
  EXPECT_EQ(status_of(pushed).code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(pushed.message(), HasSubstr("no heartbeat for 10s from process 2 (host2)"));
  EXPECT_EQ(driver.status(get).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(driver.status(driver.send(1, insert_request("a", "b"))).code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(status_of(driver.join_as(2, 999)).code(), absl::StatusCode::kUnavailable);
}

TEST(Spec31Death, IsSurvivedWhereProcessesMayComeBack) {
  StateDriver driver(kRecoverable);
  driver.join_all();
  const CallId watch = driver.send(0, watch_request(3));
  driver.pass(absl::Seconds(9), {0, 1});
  driver.pass(absl::Seconds(9), {0, 1});
  const wire::Reply pushed = *driver.reply(watch);
  EXPECT_TRUE(status_of(pushed).ok());
  ASSERT_EQ(pushed.members_size(), 1);
  EXPECT_EQ(pushed.members(0).process(), 2);
  EXPECT_EQ(pushed.members(0).state(), wire::Member::DEAD);
  EXPECT_TRUE(driver.status(driver.send(1, insert_request("a", "b"))).ok());
  EXPECT_TRUE(status_of(driver.join(2)).ok());
  EXPECT_EQ(driver.state().alive(), 3);
}

TEST(Spec34Fencing, KeepsOutAnIncarnationThatWasDeclaredDead) {
  StateDriver driver(kRecoverable);
  driver.join_all();
  driver.pass(absl::Seconds(9), {0, 1});
  driver.pass(absl::Seconds(9), {0, 1});
  const wire::Reply zombie = *driver.reply(driver.send(2, insert_request("a", "zombie")));
  EXPECT_EQ(status_of(zombie).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(zombie.fenced());
  EXPECT_THAT(zombie.message(), HasSubstr("with incarnation 102 is not connected: no heartbeat"));
  EXPECT_EQ(status_of(driver.join_as(2, 102)).code(), absl::StatusCode::kAborted);
  EXPECT_EQ(driver.status(driver.send(0, get_request("a"))).code(), absl::StatusCode::kNotFound);
}

TEST(Spec34Fencing, KeepsOutTheSelfBeforeARestartAndItsDelayedMessages) {
  StateDriver driver(kRecoverable);
  driver.join_all();
  const wire::Request delayed = driver.sent(driver.send(2, insert_request("a", "old", true)));
  driver.join(2);
  EXPECT_EQ(driver.status(driver.resend(delayed)).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status_of(driver.join_as(2, 102)).code(), absl::StatusCode::kAborted);
}

TEST(Members, MayLeave) {
  StateDriver driver(kThree);
  driver.join_all();
  const CallId barrier = driver.send(0, barrier_request("b", {0, 2}, 60'000));
  EXPECT_TRUE(driver.status(driver.send(2, leave_request())).ok());
  EXPECT_EQ(driver.status(barrier).code(), absl::StatusCode::kInternal);
  driver.pass(absl::Seconds(9), {0, 1});
  driver.pass(absl::Seconds(9), {0, 1});
  EXPECT_TRUE(driver.state().failure().ok());  // no heartbeats are expected of it
  EXPECT_EQ(driver.status(driver.send(2, get_request("a"))).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(driver.join(2).message(), HasSubstr("has left, and this run cannot begin again"));
}

TEST(Members, HearOfAnErrorThatOneReports) {
  StateDriver driver(kRecoverable);
  driver.join_all();
  const CallId watch = driver.send(0, watch_request(3));
  const CallId barrier = driver.send(1, barrier_request("b", {}, 60'000));
  driver.send(2, report_request(absl::ResourceExhaustedError("out of memory")));
  EXPECT_EQ(driver.status(watch).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(message(driver.status(watch)), "process 2 (host2) failed: out of memory");
  EXPECT_EQ(driver.status(barrier), driver.status(watch));
}

TEST(Members, OfAnotherCoordinatorAreTold) {
  StateDriver driver(kThree);
  driver.join_all();
  wire::Request request = driver.sent(driver.send(0, get_request("a")));
  request.mutable_caller()->set_service(5);
  EXPECT_THAT(message(driver.status(driver.resend(request))),
              HasSubstr("Start the coordinator with "
                        "--journal"));
}

TEST(Requests, ThatAskForNothingAreRefused) {
  StateDriver driver(kThree);
  driver.join_all();
  EXPECT_EQ(driver.status(driver.send(0, wire::Request())).code(),
            absl::StatusCode::kUnimplemented);
}

// Live sets. Spec 3.3 (formal rule: the random schedules) and 3.4.

TEST(Spec33LiveSet, WaitsForAllThatAreAliveAndTellsAllTheSame) {
  StateDriver driver(kRecoverable);
  driver.join_all();
  const CallId a = driver.send(0, live_set_request({}));
  const CallId b = driver.send(1, live_set_request({0, 1, 2}));
  EXPECT_FALSE(driver.reply(a));
  const CallId c = driver.send(2, live_set_request({}));
  for (const CallId call : {a, b, c}) {
    EXPECT_THAT(live(*driver.reply(call)), ElementsAre(0, 1, 2));
    EXPECT_EQ(driver.reply(call)->round(), 1u);
  }
  EXPECT_EQ(driver.reply(a)->members(1).incarnation(), 101u);
}

TEST(Spec33LiveSet, LeavesOutTheDead) {
  StateDriver driver(kRecoverable);
  driver.join_all();
  const CallId a = driver.send(0, live_set_request({}));
  const CallId b = driver.send(1, live_set_request({}));
  driver.pass(absl::Seconds(9), {0, 1});
  EXPECT_FALSE(driver.reply(a));
  driver.pass(absl::Seconds(9), {0, 1});
  EXPECT_THAT(live(*driver.reply(a)), ElementsAre(0, 1));
  EXPECT_THAT(live(*driver.reply(b)), ElementsAre(0, 1));
}

TEST(Spec34LiveSet, ShowsADeathAndReturnByItsIncarnation) {
  StateDriver driver(kRecoverable);
  driver.join_all();
  const CallId a = driver.send(0, live_set_request({0, 2}));
  const CallId old = driver.send(2, live_set_request({0, 2}));
  EXPECT_EQ(driver.reply(a)->members(1).incarnation(), 102u);
  EXPECT_TRUE(driver.reply(old));
  driver.join(2);
  const CallId next = driver.send(0, live_set_request({0, 2}));
  EXPECT_FALSE(driver.reply(next));  // the new one is alive, so it is waited for
  driver.send(2, live_set_request({0, 2}));
  EXPECT_EQ(driver.reply(next)->members(1).incarnation(), 202u);
}

TEST(LiveSet, OfOneListIsIndependentOfAnother) {
  StateDriver driver(kRecoverable);
  driver.join_all();
  const CallId all = driver.send(0, live_set_request({}));
  const CallId pair = driver.send(1, live_set_request({1, 2}));
  EXPECT_FALSE(driver.reply(pair));
  driver.send(2, live_set_request({1, 2}));
  EXPECT_THAT(live(*driver.reply(pair)), ElementsAre(1, 2));
  EXPECT_FALSE(driver.reply(all));
}

TEST(LiveSet, IsRefusedToOutsidersAndToASecondThread) {
  StateDriver driver(kRecoverable);
  driver.join_all();
  EXPECT_EQ(driver.status(driver.send(0, live_set_request({1, 2}))).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(driver.status(driver.send(0, live_set_request({0, 7}))).code(),
            absl::StatusCode::kInvalidArgument);
  driver.send(0, live_set_request({}));
  EXPECT_EQ(driver.status(driver.send(0, live_set_request({}))).code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(LiveSet, MayTimeOut) {
  StateDriver driver(kRecoverable);
  driver.join_all();
  const CallId a = driver.send(0, live_set_request({0, 1}, 2000));
  driver.pass(absl::Seconds(2), {0, 1, 2});
  EXPECT_THAT(message(driver.status(a)), HasSubstr("neither asked nor died: process 1 (host1)"));
  // It does not count as waiting any more.
  const CallId b = driver.send(1, live_set_request({0, 1}));
  EXPECT_FALSE(driver.reply(b));
}

TEST(LiveSet, TakesACopyOfACallForTheSameCall) {
  StateDriver driver(kRecoverable);
  driver.join_all();
  const CallId first = driver.send(0, live_set_request({0, 1}));
  const CallId copy = driver.resend(driver.sent(first));
  EXPECT_FALSE(driver.reply(first));
  driver.send(1, live_set_request({0, 1}));
  EXPECT_THAT(live(*driver.reply(first)), ElementsAre(0, 1));
  EXPECT_THAT(live(*driver.reply(copy)), ElementsAre(0, 1));
  const CallId late = driver.resend(driver.sent(first));
  EXPECT_EQ(driver.reply(late)->round(), 1u);  // the earlier answer, not a new arrival
  const CallId next = driver.send(1, live_set_request({0, 1}));
  EXPECT_FALSE(driver.reply(next));
}

// What a restarted coordinator knows.

class Restart : public testing::TestWithParam<bool> {};

TEST_P(Restart, KeepsKeyValuesMembersBarriersAndAnswers) {
  StateDriver driver(kRecoverable);
  driver.join_all();
  driver.join(1);
  driver.send(0, insert_request("a", "1"));
  driver.send(0, insert_request("b", "2"));
  driver.send(0, erase_request("b", false));
  const CallId counted = driver.send(1, increment_request("n", 4));
  driver.send(0, barrier_request("ended", {0}, 1000));
  const CallId cancelled = driver.send(0, barrier_request("cancelled", {}, 1000));
  driver.send(0, cancel_request("cancelled"));
  const CallId a = driver.send(0, live_set_request({0, 1}));
  const CallId b = driver.send(1, live_set_request({0, 1}));
  driver.restart(GetParam());
  EXPECT_EQ(driver.state().service(), 77u);
  EXPECT_EQ(driver.reply(driver.send(1, get_request("a")))->value(), "1");
  EXPECT_EQ(driver.status(driver.send(1, get_request("b"))).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(driver.reply(driver.resend(driver.sent(counted)))->number(), 4);
  EXPECT_EQ(driver.reply(driver.send(1, get_request("n")))->value(), "4");
  EXPECT_TRUE(driver.status(driver.send(2, barrier_request("ended", {0}, 1000))).ok());
  EXPECT_EQ(driver.status(driver.send(2, barrier_request("cancelled", {}, 1000))),
            driver.status(cancelled));
  EXPECT_EQ(driver.reply(driver.resend(driver.sent(b)))->SerializeAsString(),
            driver.reply(a)->SerializeAsString());
  EXPECT_EQ(status_of(driver.join_as(1, 101)).code(), absl::StatusCode::kAborted);
  // Members get the full time to be heard of again, and no more.
  driver.pass(absl::Milliseconds(9999), {});
  EXPECT_EQ(driver.state().alive(), 3);
  driver.pass(absl::Milliseconds(1), {});
  EXPECT_EQ(driver.state().alive(), 0);
  EXPECT_TRUE(driver.state().all_gone());
}

TEST_P(Restart, KeepsAFailure) {
  StateDriver driver(kThree);
  driver.join_all();
  driver.send(0, report_request(absl::DataLossError("bad disk")));
  driver.restart(GetParam());
  EXPECT_EQ(driver.state().failure().code(), absl::StatusCode::kDataLoss);
}

TEST_P(Restart, TellsAWatchAllMembersWhenItsVersionIsOfBefore) {
  StateDriver driver(kRecoverable);
  driver.join_all();
  driver.restart(GetParam());
  const CallId watch = driver.send(0, watch_request(2));
  EXPECT_EQ(driver.reply(watch)->members_size(), 3);
}

TEST_P(Restart, TakesCallsThatWaitedWhenTheyAreSentAgain) {
  StateDriver driver(kRecoverable);
  driver.join_all();
  const CallId barrier = driver.send(0, barrier_request("b", {}, 5000));
  const CallId set = driver.send(0, live_set_request({0, 1}));
  driver.restart(GetParam());
  const CallId barrier_again = driver.resend(driver.sent(barrier));
  const CallId set_again = driver.resend(driver.sent(set));
  driver.send(1, barrier_request("b", {}, 5000));
  driver.send(2, barrier_request("b", {}, 5000));
  driver.send(1, live_set_request({0, 1}));
  EXPECT_TRUE(driver.status(barrier_again).ok());
  EXPECT_THAT(live(*driver.reply(set_again)), ElementsAre(0, 1));
}

INSTANTIATE_TEST_SUITE_P(From, Restart, testing::Bool(),
                         [](const auto& info) { return info.param ? "Snapshot" : "Records"; });

TEST(Restore, RefusesAJournalOfAnotherCluster) {
  State stored({.processes = 2}, 5, absl::ZeroDuration());
  const wire::Batch batch = stored.take_records();
  State more({.processes = 3}, 6, absl::ZeroDuration());
  EXPECT_THAT(message(more.restore(batch)), HasSubstr("of a cluster of 2 processes"));
  State other({.processes = 2, .recoverable = true}, 6, absl::ZeroDuration());
  EXPECT_THAT(message(other.restore(batch)), HasSubstr("without --recoverable"));
}

}  // namespace
}  // namespace tessera::coord
