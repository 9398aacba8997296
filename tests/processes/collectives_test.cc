// Programs over the devices of several processes, and what happens when one of them dies.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cmath>

#include "absl/time/clock.h"
#include "tessera/base/strings.h"
#include "tessera/pjrt/testing.h"
#include "tests/processes/processes.h"

namespace tessera::process_testing {
namespace {

using testing::HasSubstr;

constexpr int kRows = 8, kWidth = 64;  // rows a device

// Least squares, the rows over the devices: w - 0.01 * x^T (x w - 1), and the loss.
std::string step_program(int devices) {
  const int rows = kRows * devices;
  const std::string x = str_cat("tensor<", rows, "x", kWidth, "xf32>");
  const std::string w = str_cat("tensor<", kWidth, "xf32>"), r = str_cat("tensor<", rows, "xf32>");
  return str_cat(
      "module @step attributes {mhlo.num_partitions = ", devices,
      " : i32, mhlo.num_replicas = 1 : i32} {\n  sdy.mesh @mesh = <[\"x\"=", devices,
      "]>\n  func.func public @main(%x: ", x,
      " {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>}, %w: ", w,
      " {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) -> (", w,
      " {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, "
      "tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}) {\n"
      "    %one = stablehlo.constant dense<1.0> : ",
      r,
      "\n    %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "    %rate = stablehlo.constant dense<",
      0.01 / devices, "> : ", w,
      "\n    %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (", x, ", ", w,
      ") -> ", r, "\n    %e = stablehlo.subtract %y, %one : ", r,
      "\n    %g = stablehlo.dot_general %x, %e, contracting_dims = [0] x [0] : (", x, ", ", r,
      ") -> ", w, "\n    %s = stablehlo.multiply %g, %rate : ", w,
      "\n    %n = stablehlo.subtract %w, %s : ", w, "\n    %q = stablehlo.multiply %e, %e : ", r,
      "\n    %l = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0] : "
      "(",
      r, ", tensor<f32>) -> tensor<f32>\n    return %n, %l : ", w, ", tensor<f32>\n  }\n}\n");
}

// A data-parallel loop on the devices of this process among all that take part.
class Loop {
 public:
  static Result<Loop> make(pjrt::Client& client, std::vector<pjrt::Device> all) {
    Loop loop;
    pjrt::CompileOptions options;
    options.device_ids.clear();
    for (const pjrt::Device& device : all) options.device_ids.push_back(device.id());
    ASSIGN_OR_RETURN(pjrt::Executable executable,
                     client.compile(step_program(static_cast<int>(all.size())), options));
    loop.executable_ = std::make_unique<pjrt::Executable>(std::move(executable));
    for (const pjrt::Device& device : loop.executable_->devices()) {
      int place = 0;
      while (all[place].id() != device.id()) ++place;
      std::vector<float> rows(kRows * kWidth);
      for (size_t i = 0; i < rows.size(); ++i)
        rows[i] = std::sin(static_cast<float>(i + place * rows.size()));
      ASSIGN_OR_RETURN(
          auto x,
          client.to_device(HostArray::from<float>(DType::kF32, {kRows, kWidth}, rows), device));
      ASSIGN_OR_RETURN(
          auto w, client.to_device(
                      HostArray::from<float>(DType::kF32, {kWidth}, std::vector<float>(kWidth, 0)),
                      device));
      loop.x_.push_back(std::move(x));
      loop.w_.push_back(std::move(w));
    }
    return loop;
  }

  // Starts a step without waiting for it.
  Status step() {
    std::vector<std::vector<const pjrt::Buffer*>> arguments;
    for (size_t i = 0; i < x_.size(); ++i) arguments.push_back({&x_[i], &w_[i]});
    ASSIGN_OR_RETURN(auto result, executable_->execute(arguments));
    w_.clear();
    losses_.clear();
    for (auto& outputs : result.outputs) {
      w_.push_back(std::move(outputs[0]));
      losses_.push_back(std::move(outputs[1]));
    }
    return absl::OkStatus();
  }
  // Of the newest step, on the first device.
  Result<float> loss() const {
    ASSIGN_OR_RETURN(const HostArray loss, losses_.at(0).to_host());
    return loss.as<float>()[0];
  }
  Result<std::vector<float>> weights(size_t device) const {
    ASSIGN_OR_RETURN(const HostArray w, w_.at(device).to_host());
    return std::vector<float>(w.as<float>().begin(), w.as<float>().end());
  }
  size_t devices() const { return x_.size(); }

 private:
  std::unique_ptr<pjrt::Executable> executable_;
  std::vector<pjrt::Buffer> x_, w_, losses_;
};

std::vector<pjrt::Device> all_devices(const pjrt::Client& client) {
  return {client.devices().begin(), client.devices().end()};
}

int steps() { return std::atoi(Member::setting("STEPS").c_str()); }

TESSERA_PROCESS_BODY(train) {
  ASSIGN_OR_RETURN(pjrt::Client * client, member.client());
  ASSIGN_OR_RETURN(Loop loop, Loop::make(*client, all_devices(*client)));
  for (int i = 0; i < steps(); ++i) {
    RETURN_IF_ERROR(loop.step());
    if (i % 100 != 99) continue;
    ASSIGN_OR_RETURN(const float loss, loop.loss());
    member.say("step ", i + 1, " loss ", loss);
  }
  ASSIGN_OR_RETURN(const auto first, loop.weights(0));
  for (size_t i = 1; i < loop.devices(); ++i) {
    ASSIGN_OR_RETURN(const auto other, loop.weights(i));
    if (other != first) return internal_error("device ", i, " has other weights");
  }
  ASSIGN_OR_RETURN(const float loss, loop.loss());
  ASSIGN_OR_RETURN(const pjrt::Traffic traffic, client->traffic());
  member.say("sent ", traffic.bytes_sent, " in ", traffic.operations);
  double sum = 0;
  for (const float w : first) sum += w;
  member.say("end: ", loss, " ", sum);
  return absl::OkStatus();
}

// The loss and the weights' sum at the end.
std::pair<double, double> end_of(const Ended& one) {
  double loss = NAN, sum = NAN;
  const size_t at = one.output.find("end: ");
  if (at != std::string::npos) sscanf(one.output.c_str() + at, "end: %lf %lf", &loss, &sum);
  return {loss, sum};
}

class ManySteps : public testing::TestWithParam<std::pair<int, int>> {};
INSTANTIATE_TEST_SUITE_P(Processes, ManySteps,
                         testing::Values(std::pair(2, 1), std::pair(2, 4), std::pair(4, 2)),
                         [](const auto& info) {
                           return str_cat(info.param.first, "With", info.param.second, "Devices");
                         });

// Steps without a pause, which XLA's threads must not be too few for.
TEST_P(ManySteps, AreThoseOfOneProcess) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto [processes, devices] = GetParam();
  // 2,000 by hand: TESSERA_TEST_STEPS=2000
  const char* given = std::getenv("TESSERA_TEST_STEPS");
  const std::string count = given == nullptr ? "150" : given;
  const RunOptions options = {.processes = processes,
                              .devices = devices,
                              .environment = {{"STEPS", count}},
                              .longest = absl::Minutes(10)};
  const auto all = run_processes("train", options);
  const auto one = run_processes(
      "train", {.processes = 1, .devices = processes * devices, .environment = {{"STEPS", count}}});
  ASSERT_EQ(one[0].exit_code, 0) << one[0].output;
  const auto [loss, sum] = end_of(one[0]);
  ASSERT_GT(loss, 0);
  // The gradient and the loss: an element each of what every process has to send.
  const double bytes = std::stod(count) * (kWidth + 1) * 4 * 2 * (processes - 1) / processes;
  for (const Ended& process : all) {
    ASSERT_EQ(process.exit_code, 0) << process.output;
    EXPECT_NEAR(end_of(process).first, loss, 1e-5 * loss);
    EXPECT_NEAR(end_of(process).second, sum, 1e-4);
    const size_t at = process.output.find("sent ");
    ASSERT_NE(at, std::string::npos);
    // Small arrays go whole to each of the others: more bytes, fewer waits.
    EXPECT_GE(std::stod(process.output.substr(at + 5)), 0.95 * bytes);
  }
}

// ---- deaths

// Says when it is under way, and what the error is.
Status run_until_error(Member& member, Loop& loop) {
  Status error;
  for (int i = 0; i < 1'000'000 && error.ok(); ++i) {
    error = loop.step();
    if (error.ok()) error = loop.loss().status();
    if (i == 20) member.say("under way");
  }
  member.say("got ", error.ToString());
  return error;
}

TESSERA_PROCESS_BODY(lose_a_process) {
  ASSIGN_OR_RETURN(pjrt::Client * client, member.client());
  ASSIGN_OR_RETURN(Loop loop, Loop::make(*client, all_devices(*client)));
  const Status error = run_until_error(member, loop);
  if (error.ok()) return internal_error("nothing failed");
  // Those that live go on, in the same process.
  ASSIGN_OR_RETURN(const coord::LiveSet live, member.coordinator().live_set({}, absl::Minutes(1)));
  std::vector<pjrt::Device> devices;
  for (const pjrt::Device& device : client->devices()) {
    for (const coord::ProcessId& id : live.processes) {
      if (id.process == device.process_index()) devices.push_back(device);
    }
  }
  ASSIGN_OR_RETURN(Loop survivors, Loop::make(*client, devices));
  for (int i = 0; i < 50; ++i) RETURN_IF_ERROR(survivors.step());
  ASSIGN_OR_RETURN(const float loss, survivors.loss());
  member.say("went on with ", devices.size(), " devices, loss ", loss);
  // With the dead it is an error at once.
  ASSIGN_OR_RETURN(Loop again, Loop::make(*client, all_devices(*client)));
  member.say("with the dead: ", again.step().ToString());
  return absl::OkStatus();
}

void expect_survivors(Processes& processes, int count, int dead, int devices_left) {
  for (int i = 0; i < count; ++i) {
    if (i == dead) continue;
    const Ended one = processes.wait(i);
    EXPECT_EQ(one.exit_code, 0) << one.output;
    EXPECT_THAT(one.output, HasSubstr("got UNAVAILABLE"));
    EXPECT_THAT(one.output, HasSubstr(str_cat("went on with ", devices_left, " devices")));
    EXPECT_THAT(one.output, HasSubstr("which has died"));
  }
}

TEST(Death, Spec32OfOneProcessIsAnErrorOfTheOthersWhoGoOn) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  Processes processes(
      "lose_a_process",
      {.processes = 4, .devices = 2, .recoverable = true, .heartbeat_timeout = absl::Seconds(15)});
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(processes.says(i, "under way")) << processes.output(i);
  processes.signal(2, SIGKILL);
  expect_survivors(processes, 4, 2, 6);
}

// Its connections stay open, so that only the coordinator can tell.
TEST(Death, Spec32OfOneThatIsSuspendedIsToldByTheCoordinator) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  Processes processes(
      "lose_a_process",
      {.processes = 3, .devices = 1, .recoverable = true, .heartbeat_timeout = absl::Seconds(15)});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(processes.says(i, "under way")) << processes.output(i);
  processes.signal(1, SIGSTOP);
  expect_survivors(processes, 3, 1, 2);
}

TESSERA_PROCESS_BODY(come_back_and_compute) {
  ASSIGN_OR_RETURN(pjrt::Client * client, member.client());
  const bool first =
      member.coordinator().insert(str_cat("started ", member.process()), "once").ok();
  if (first) {
    ASSIGN_OR_RETURN(Loop loop, Loop::make(*client, all_devices(*client)));
    run_until_error(member, loop).IgnoreError();
  }
  while (true) {
    ASSIGN_OR_RETURN(const coord::LiveSet live,
                     member.coordinator().live_set({}, absl::Minutes(1)));
    if (static_cast<int>(live.processes.size()) == member.processes()) break;
    absl::SleepFor(absl::Milliseconds(20));
  }
  ASSIGN_OR_RETURN(Loop loop, Loop::make(*client, all_devices(*client)));
  for (int i = 0; i < 50; ++i) RETURN_IF_ERROR(loop.step());
  ASSIGN_OR_RETURN(const float loss, loop.loss());
  member.say("all again, loss ", loss);
  return absl::OkStatus();
}

TEST(Death, Spec32OfOneThatComesBackIsOverWhenItIsThere) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  Processes processes(
      "come_back_and_compute",
      {.processes = 3, .devices = 2, .recoverable = true, .heartbeat_timeout = absl::Seconds(15)});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(processes.says(i, "under way")) << processes.output(i);
  processes.signal(1, SIGKILL);
  EXPECT_EQ(processes.wait(1).exit_code, 128 + SIGKILL);
  for (int i : {0, 2}) ASSERT_TRUE(processes.says(i, "got UNAVAILABLE")) << processes.output(i);
  processes.start_again(1);
  for (const Ended& one : processes.wait()) {
    EXPECT_EQ(one.exit_code, 0) << one.output;
    EXPECT_THAT(one.output, HasSubstr("all again"));
  }
}

// ---- timeouts

TESSERA_PROCESS_BODY(come_too_late) {
  ASSIGN_OR_RETURN(pjrt::Client * client,
                   member.client({{"collective_timeout_ms", int64_t{3000}}}));
  ASSIGN_OR_RETURN(Loop loop, Loop::make(*client, all_devices(*client)));
  RETURN_IF_ERROR(member.meet("compiled"));
  RETURN_IF_ERROR(loop.step());
  RETURN_IF_ERROR(loop.loss().status());
  if (member.process() != 1) {
    RETURN_IF_ERROR(loop.step());
    member.say("got ", loop.loss().status().ToString());
  }
  RETURN_IF_ERROR(member.meet("too late"));
  ASSIGN_OR_RETURN(Loop again, Loop::make(*client, all_devices(*client)));
  RETURN_IF_ERROR(member.meet("compiled again"));
  RETURN_IF_ERROR(again.step());
  ASSIGN_OR_RETURN(const float loss, again.loss());
  member.say("again: ", loss);
  return absl::OkStatus();
}

TEST(Timeout, OfACollectiveIsAnErrorAfterWhichTheSameProcessesWorkAgain) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto all = run_processes("come_too_late", {.processes = 3});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(all[i].exit_code, 0) << all[i].output;
    EXPECT_THAT(all[i].output, HasSubstr("again: "));
    if (i == 1) continue;
    EXPECT_THAT(all[i].output, testing::ContainsRegex("got (DEADLINE|UNAVAIL)"));
  }
}

}  // namespace
}  // namespace tessera::process_testing
