#include "tessera/runtime/transfer_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <thread>

#include "tessera/base/log.h"
#include "tessera/ops/elementwise_binary.h"
#include "tessera/runtime/argument.h"
#include "tessera/runtime/jit.h"
#include "tessera/runtime/runtime_fixture.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::iota;
using testing::message;
using testing::sharded;
using testing::test_mesh;
using enum TransferDirection;
using enum TransferLevel;

constexpr TransferDirection kDirections[] = {kHostToDevice, kDeviceToDevice, kDeviceToHost};
constexpr TransferLevel kLevels[] = {kAllow, kLog, kDisallow, kLogExplicit, kDisallowExplicit};
constexpr std::string_view kLevelNames[] = {"allow", "log", "disallow", "log_explicit",
                                            "disallow_explicit"};

class TransferGuardTest : public testing::RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    if (IsSkipped()) return;
    log_.emplace(
        [this](std::string_view text) {
          const std::lock_guard lock(mutex_);
          logged_ += text;
        },
        clock_);
    scoped_.emplace(*log_);
    array_.emplace(put(value_, rows_));
    const std::vector<NamedShape> parameters = {{"x", value_.shape()}};
    auto graph = trace(parameters, [](Graph&, std::span<const Value> p) -> std::vector<Value> {
      return {p[0] + p[0]};
    });
    ASSERT_TRUE(graph.ok());
    auto function = jit(*runtime_, **graph,
                        {.name = "twice",
                         .mesh = mesh_,
                         .rules = {{"rows", {"x"}}},
                         .arguments = {{"x", {"rows", ""}}},
                         .results = {{"y", {"rows", ""}}}});
    ASSERT_TRUE(function.ok()) << function.status();
    twice_.emplace(*function);
  }

  /// What a user does that moves data in this way.
  Status transfer(TransferDirection direction, bool is_implicit) {
    Tree<Argument> arguments;
    switch (direction) {
      case kHostToDevice:
        if (!is_implicit) return Array::from_host(*runtime_, value_, rows_).status();
        RETURN_IF_ERROR(arguments.add("x", value_));
        return tessera::call(*runtime_, *twice_, arguments).status();
      case kDeviceToDevice:
        if (!is_implicit) return device_put(*runtime_, *array_, columns_).status();
        if (!on_columns_.defined()) {
          const TransferUnderWay under_way;
          ASSIGN_OR_RETURN(on_columns_, device_put(*runtime_, *array_, columns_));
        }
        RETURN_IF_ERROR(arguments.add("x", on_columns_));
        return tessera::call(*runtime_, *twice_, arguments).status();
      case kDeviceToHost:
        return is_implicit ? to_text(*array_).status() : array_->to_host().status();
    }
    return absl::OkStatus();
  }
  std::string take_log() {
    const std::lock_guard lock(mutex_);
    return std::exchange(logged_, "");
  }

  const Mesh mesh_ = test_mesh({{"x", 4}});
  const NamedSharding rows_ = sharded(mesh_, {{{"x"}}});
  const NamedSharding columns_ = sharded(mesh_, {{{}, {"x"}}});
  const HostArray value_ = iota({4, 8});
  std::optional<Array> array_;
  Array on_columns_;
  std::optional<CompiledFunction> twice_;

 private:
  RealClock clock_;
  std::mutex mutex_;
  std::string logged_;  // guarded by mutex_
  std::optional<LogSink> log_;
  std::optional<ScopedLogSink> scoped_;
};

// Five levels, three directions, asked for by name or not.
TEST_F(TransferGuardTest, Spec8EveryLevelDirectionAndKind) {
  enum Effect { kNothing, kLogged, kRefused };
  const auto expected = [](TransferLevel level, bool is_implicit) {
    switch (level) {
      case kAllow:
        return kNothing;
      case kLog:
        return is_implicit ? kLogged : kNothing;
      case kDisallow:
        return is_implicit ? kRefused : kNothing;
      case kLogExplicit:
        return kLogged;
      case kDisallowExplicit:
        return kRefused;
    }
    return kNothing;
  };
  int cells = 0;
  for (const TransferLevel level : kLevels) {
    for (const TransferDirection direction : kDirections) {
      for (const bool is_implicit : {false, true}) {
        SCOPED_TRACE(str_cat(kLevelNames[static_cast<int>(level)], " ", to_string(direction),
                             is_implicit ? " implicit" : " explicit"));
        take_log();
        Status status;
        {
          const TransferGuard guard(direction, level);
          status = transfer(direction, is_implicit);
        }
        const Effect effect = expected(level, is_implicit);
        EXPECT_EQ(status.ok(), effect != kRefused) << status;
        const std::string log = take_log();
        if (effect == kLogged) {
          EXPECT_THAT(log, AllOf(HasSubstr("warning"),
                                 HasSubstr(str_cat(to_string(direction), " transfer: f32[4,8]"))));
        } else {
          EXPECT_EQ(log, "");
        }
        if (effect == kRefused) {
          EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
          EXPECT_THAT(message(status),
                      HasSubstr(str_cat("Disallowed ", to_string(direction), " transfer: ")));
        }
        ++cells;
      }
    }
  }
  EXPECT_EQ(cells, 30);
}

TEST_F(TransferGuardTest, Spec8AMessageSaysWhatWhereAndHowMuch) {
  const TransferGuard guard(kDisallowExplicit);
  const Status put = Array::from_host(*runtime_, value_, rows_).status();
  const int line = __LINE__ - 1;
  EXPECT_THAT(message(put), AllOf(HasSubstr("f32[4,8] (128 bytes) to "), HasSubstr(" and 3 more"),
                                  HasSubstr("explicit"),
                                  HasSubstr(str_cat("transfer_guard_test.cc:", line, " ("))));
  EXPECT_THAT(message(put), HasSubstr(runtime_->client().devices()[0].to_string()));
  EXPECT_THAT(message(put), HasSubstr(" at tessera/runtime/transfer_guard_test.cc:"));
  // Copies for replicas are bytes too.
  const Status everywhere =
      Array::from_host(*runtime_, value_, NamedSharding::replicated(mesh_)).status();
  EXPECT_THAT(message(everywhere), HasSubstr("(512 bytes)"));

  const Status move = device_put(*runtime_, *array_, columns_).status();
  EXPECT_THAT(message(move), AllOf(HasSubstr("device-to-device transfer: f32[4,8] (128 bytes) from "
                                             "f32[4,8] sharded [x,_] over x=4 to f32[4,8] sharded "
                                             "[_,x] over x=4"),
                                   HasSubstr(str_cat("transfer_guard_test.cc:", __LINE__ - 4))));
  const Status read = array_->to_host().status();
  EXPECT_THAT(message(read), AllOf(HasSubstr("device-to-host transfer: f32[4,8] (128 bytes) from "),
                                   HasSubstr(str_cat("transfer_guard_test.cc:", __LINE__ - 2))));
  Tree<Argument> arguments;
  ASSERT_TRUE(arguments.add("x", value_).ok());
  EXPECT_THAT(message(tessera::call(*runtime_, *twice_, arguments).status()),
              AllOf(HasSubstr("call of 'twice': argument 'x'"), HasSubstr("implicit"),
                    HasSubstr(str_cat("transfer_guard_test.cc:", __LINE__ - 2))));
}

TEST_F(TransferGuardTest, Spec8AnInnerLevelWinsAndTheOuterOneComesBack) {
  const auto allowed = [&](TransferDirection direction) { return transfer(direction, true).ok(); };
  EXPECT_TRUE(allowed(kHostToDevice));
  {
    const TransferGuard outer(kDisallow);
    for (const TransferDirection direction : kDirections) EXPECT_FALSE(allowed(direction));
    {
      const TransferGuard inner(kDeviceToHost, kAllow);
      EXPECT_TRUE(allowed(kDeviceToHost));
      EXPECT_FALSE(allowed(kHostToDevice));
      EXPECT_FALSE(allowed(kDeviceToDevice));
      {
        const TransferGuard innermost(kHostToDevice, kLog);
        EXPECT_TRUE(allowed(kHostToDevice));
        EXPECT_TRUE(allowed(kDeviceToHost));
        EXPECT_EQ(transfer_level(kHostToDevice), kLog);
        EXPECT_EQ(transfer_level(kDeviceToDevice), kDisallow);
      }
      EXPECT_FALSE(allowed(kHostToDevice));
    }
    EXPECT_FALSE(allowed(kDeviceToHost));
  }
  for (const TransferDirection direction : kDirections) EXPECT_TRUE(allowed(direction));
}

TEST_F(TransferGuardTest, Spec8AnotherThreadHasTheProcesssLevels) {
  const auto in_thread = [](const std::function<void()>& body) { std::thread(body).join(); };
  const TransferGuard guard(kDisallowExplicit);
  in_thread([&] { EXPECT_TRUE(transfer(kHostToDevice, true).ok()); });
  EXPECT_FALSE(transfer(kHostToDevice, false).ok());

  set_transfer_level(kHostToDevice, kDisallow);
  const TransferGuard allow(kHostToDevice, kAllow);
  EXPECT_TRUE(transfer(kHostToDevice, true).ok());
  in_thread([&] {
    EXPECT_FALSE(transfer(kHostToDevice, true).ok());
    EXPECT_TRUE(transfer(kDeviceToHost, true).ok());
    const TransferGuard own(kAllow);
    EXPECT_TRUE(transfer(kHostToDevice, true).ok());
  });
  set_transfer_level(kDisallow);
  in_thread([&] { EXPECT_FALSE(transfer(kDeviceToHost, true).ok()); });
  set_transfer_level(kAllow);
  in_thread([&] { EXPECT_TRUE(transfer(kDeviceToHost, true).ok()); });
}

TEST_F(TransferGuardTest, Spec8WhatMovesNothingIsNoTransfer) {
  const TransferGuard guard(kDisallowExplicit);
  EXPECT_TRUE(device_put(*runtime_, *array_, rows_).ok());  // lies so already
  // Constants are in the program, and its results stay on the devices.
  EXPECT_TRUE((*twice_)({&*array_, 1}).ok());
}

TEST_F(TransferGuardTest, ACallBringsHostValuesAndArraysToWhereTheProgramWantsThem) {
  for (const Argument& x : {Argument(value_), Argument(put(value_, columns_)), Argument(*array_),
                            Argument(put(value_, sharded(test_mesh({{"y", 2}}), {{{"y"}}})))}) {
    Tree<Argument> arguments;
    ASSERT_TRUE(arguments.add("x", x).ok());
    const auto result = tessera::call(*runtime_, *twice_, arguments);
    ASSERT_TRUE(result.ok()) << result.status();
    const auto host = result->at("y").to_host();
    ASSERT_TRUE(host.ok()) << host.status();
    EXPECT_EQ(host->as<float>()[31], 62);
  }
  Tree<Argument> wrong;
  ASSERT_TRUE(wrong.add("x", iota({2, 2})).ok());
  EXPECT_THAT(message(tessera::call(*runtime_, *twice_, wrong).status()),
              HasSubstr("argument 'x': got f32[2,2] of the host's, required f32[4,8]"));
  Tree<Argument> unknown;
  ASSERT_TRUE(unknown.add("z", value_).ok());
  EXPECT_THAT(message(tessera::call(*runtime_, *twice_, unknown).status()),
              HasSubstr("argument 'x' is missing"));
}

TEST_F(TransferGuardTest, TextShowsTheEndsOfALargeArray) {
  EXPECT_EQ(*to_text(put(iota({2, 2}), NamedSharding::replicated(mesh_))),
            "f32[2,2] [[0, 1], [2, 3]]");
  EXPECT_EQ(*to_text(put(iota({8}), NamedSharding::replicated(mesh_))),
            "f32[8] [0, 1, 2, ..., 5, 6, 7]");
  const int64_t large = (int64_t{1} << 60) + 1;
  EXPECT_EQ(*to_text(put(HostArray::from<int64_t>(DType::kS64, {}, {&large, 1}),
                         NamedSharding::replicated(mesh_))),
            "s64[] 1152921504606846977");
}

TEST_F(TransferGuardTest, ABudgetStopsWhatGoesBeyondIt) {
  TransferBudget outer(300);
  EXPECT_TRUE(transfer(kHostToDevice, false).ok());
  EXPECT_EQ(outer.used_bytes(), 128);
  {
    TransferBudget reads(130, kDeviceToHost);
    EXPECT_TRUE(transfer(kDeviceToHost, true).ok());
    EXPECT_EQ(reads.used_bytes(), 128);
    const Status beyond = transfer(kDeviceToHost, false);
    EXPECT_EQ(beyond.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(message(beyond),
                AllOf(HasSubstr("Over the budget of 130 bytes, of which 128 are used: "
                                "device-to-host transfer: f32[4,8] (128 bytes)"),
                      HasSubstr("transfer_guard_test.cc:")));
    EXPECT_EQ(reads.used_bytes(), 128);
    EXPECT_EQ(outer.used_bytes(), 256);  // what was refused counts nowhere
  }
  EXPECT_EQ(transfer(kHostToDevice, false).code(), absl::StatusCode::kResourceExhausted);
  std::thread([&] { EXPECT_TRUE(transfer(kHostToDevice, false).ok()); }).join();
  EXPECT_EQ(outer.used_bytes(), 256);
}

TEST_F(TransferGuardTest, TransfersAreCountedByLine) {
  int line = 0;
  for (int i = 0; i < 3; ++i) {
    line = __LINE__ + 1;
    ASSERT_TRUE(Array::from_host(*runtime_, value_, rows_).ok());
  }
  int found = 0;
  for (const TransferCount& count : transfer_counts()) {
    if (count.line != line || !count.file.ends_with("transfer_guard_test.cc")) continue;
    ++found;
    EXPECT_EQ(count.transfers, 3);
    EXPECT_EQ(count.bytes, 3 * 128);
    EXPECT_EQ(count.direction, kHostToDevice);
    EXPECT_FALSE(count.is_implicit);
  }
  EXPECT_EQ(found, 1);
}

}  // namespace
}  // namespace tessera
