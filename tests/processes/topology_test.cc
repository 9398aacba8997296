// Processes that make one client together: who is there, and who is missing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_join.h"
#include "tessera/base/strings.h"
#include "tessera/pjrt/testing.h"
#include "tests/processes/processes.h"

namespace tessera::process_testing {
namespace {

using testing::HasSubstr;

std::string ids(const std::vector<pjrt::Device>& devices) {
  std::vector<int> all;
  for (const pjrt::Device& device : devices) all.push_back(device.id());
  return absl::StrJoin(all, ",");
}

std::optional<int64_t> slice_of(const pjrt::Device& device) {
  for (const pjrt::NamedValue& attribute : device.attributes()) {
    if (attribute.name == "slice_index") return std::get<int64_t>(attribute.value);
  }
  return std::nullopt;
}

TESSERA_PROCESS_BODY(list_devices) {
  const std::string slices = Member::setting("SLICES");
  ASSIGN_OR_RETURN(
      pjrt::Client * client,
      member.client({},
                    slices.empty() ? std::nullopt : std::optional<int64_t>(member.process() / 2)));
  member.say("process ", client->process_index());
  member.say("own ", ids(client->addressable_devices()));
  const std::vector<pjrt::Device> all(client->devices().begin(), client->devices().end());
  member.say("all ", ids(all));
  for (const pjrt::Device& device : all) {
    member.say(device.id(), " is of ", device.process_index(), ", slice ",
               slice_of(device).value_or(-1), ", ", device.is_addressable() ? "own" : "foreign",
               ", ", device.kind(), ", memories ", device.memories().size());
    if (device.is_addressable()) continue;
    if (device.default_memory().ok()) return internal_error("a foreign device has a memory");
    const auto array = HostArray::from<float>(DType::kF32, {1}, std::vector<float>{1});
    if (client->to_device(array, device).ok()) return internal_error("data on a foreign device");
  }
  return absl::OkStatus();
}

TEST(ProcessesMakeOneClient, Spec11EveryoneListsAllDevicesAndOwnsItsOwn) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto all = run_processes("list_devices", {.processes = 4, .devices = 2});
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(all[i].exit_code, 0) << all[i].output;
    EXPECT_THAT(all[i].output, HasSubstr(str_cat("process ", i, "\n")));
    EXPECT_THAT(all[i].output, HasSubstr(str_cat("own ", 2048 * i, ",", 2048 * i + 1, "\n")));
    EXPECT_THAT(all[i].output, HasSubstr("all 0,1,2048,2049,4096,4097,6144,6145\n"));
    for (int id : {0, 1, 2048, 2049, 4096, 4097, 6144, 6145}) {
      const bool own = id / 2048 == i;
      EXPECT_THAT(all[i].output, HasSubstr(str_cat(id, " is of ", id / 2048, ", slice -1, ",
                                                   own ? "own" : "foreign", ", cpu, memories ",
                                                   own ? 3 : 0, "\n")));
    }
  }
}

TEST(ProcessesMakeOneClient, WithUnevenNumbersOfDevicesAndWithSlices) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto all =
      run_processes("list_devices",
                    {.processes = 3, .devices_of = {1, 3, 2}, .environment = {{"SLICES", "yes"}}});
  for (const Ended& one : all) {
    ASSERT_EQ(one.exit_code, 0) << one.output;
    EXPECT_THAT(one.output, HasSubstr("all 0,2048,2049,2050,4096,4097\n"));
    EXPECT_THAT(one.output, HasSubstr("2050 is of 1, slice 0"));
    EXPECT_THAT(one.output, HasSubstr("4096 is of 2, slice 1"));
  }
}

// Some of the processes never make a client.
TESSERA_PROCESS_BODY(come_late) {
  RETURN_IF_ERROR(member.meet("all are there"));
  if (member.process() % 2 == 1) return member.meet("all have failed");
  const auto client = member.client({{"topology_timeout_ms", int64_t{4000}}});
  if (client.ok()) return internal_error("there is a client without the others");
  member.say("got ", client.status().ToString());
  return member.meet("all have failed");
}

TEST(ProcessesMakeOneClient, ATimeoutNamesThoseThatDidNotCome) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto all = run_processes("come_late", {.processes = 4});
  for (const Ended& one : all) EXPECT_EQ(one.exit_code, 0) << one.output;
  for (int i : {0, 2}) {
    EXPECT_THAT(all[i].output, HasSubstr("DEADLINE_EXCEEDED"));
    EXPECT_THAT(all[i].output,
                HasSubstr("2 of 4 processes did not come within 4000 ms (create option "
                          "'topology_timeout_ms'): processes 1, 3"));
  }
}

TESSERA_PROCESS_BODY(slice_only_in_some) {
  const auto client = member.client(
      {}, member.process() == 1 ? std::nullopt : std::optional<int64_t>(member.process()));
  member.say("got ", client.status().ToString());
  return absl::OkStatus();
}

TEST(ProcessesMakeOneClient, ASliceIsGivenByAllOrByNone) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  for (const Ended& one : run_processes("slice_only_in_some", {.processes = 3})) {
    EXPECT_THAT(one.output, HasSubstr("INVALID_ARGUMENT"));
    EXPECT_THAT(one.output, HasSubstr("it is missing for 1"));
  }
}

TESSERA_PROCESS_BODY(come_back) {
  ASSIGN_OR_RETURN(pjrt::Client * client, member.client());
  member.say("devices ", client->devices().size());
  if (member.process() == 1 && client->devices().size() == 4) {
    // The first start is killed here; the second one goes on.
    static_cast<void>(member.coordinator().get("started again", absl::Seconds(60)));
  }
  return member.meet("end");
}

TEST(ProcessesMakeOneClient, AProcessThatIsStartedAgainFindsTheOthers) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  Processes processes("come_back", {.processes = 2, .devices = 2, .recoverable = true});
  ASSERT_TRUE(processes.says(1, "devices 4")) << processes.output(1);
  processes.signal(1, 9);
  EXPECT_EQ(processes.wait(1).exit_code, 128 + 9);
  processes.start_again(1);
  EXPECT_TRUE(processes.says(1, "devices 4", 2)) << processes.output(1);
}

}  // namespace
}  // namespace tessera::process_testing
