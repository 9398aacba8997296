// main() of test programs with bodies: all tests, or, as a child of one, a body.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>

#include <cstdlib>
#include <iostream>
#include <map>

#include "tessera/base/clock.h"
#include "tessera/base/strings.h"
#include "tests/processes/processes.h"

namespace tessera::process_testing {
namespace {

std::map<std::string, Body>& bodies() {
  static std::map<std::string, Body> all;
  return all;
}

int number(const char* name) { return std::atoi(Member::setting(name).c_str()); }

Status run_body(const std::string& name) {
  const auto found = bodies().find(name);
  if (found == bodies().end()) return not_found("no body is named ", name);
  static RealClock clock;
  static MemberWatch watch;
  const int process = number("TESSERA_PROCESS_ID"), processes = number("TESSERA_NUM_PROCESSES");
  ASSIGN_OR_RETURN(auto coordinator,
                   coord::Client::connect(
                       {.coordinator = Member::setting("TESSERA_COORDINATOR_ADDRESS"),
                        .process = process,
                        .processes = processes,
                        .connect_timeout = absl::Seconds(60),
                        .on_failure = [=](const Status&) { watch.fail(process, processes); },
                        .on_change = [](const auto& changes) { watch.take_changes(changes); }},
                       clock));
  Member own(number("TESSERA_PROCESS_DEVICES"), std::move(coordinator), watch);
  Status status = found->second(own);
  // Said before leaving: where one has died, leaving fails or waits.
  if (!status.ok()) std::cout << "failed: " << status << std::endl;
  if (status.ok()) status = own.coordinator().shutdown(absl::Seconds(60));
  return status;
}

}  // namespace

bool add_body(const char* name, Body body) { return bodies().emplace(name, body).second; }

}  // namespace tessera::process_testing

int main(int argc, char** argv) {
  using tessera::process_testing::Member;
  const std::string body = Member::setting("TESSERA_PROCESS_BODY");
  if (!body.empty()) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    return tessera::process_testing::run_body(body).ok() ? 0 : 3;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
