// worker MODE: a process of a cluster that does something simple, for tests that kill it.
//
//   idle        waits until it fails
//   live        asks for live sets, and says when one differs from the last
//   count N     adds one to the key "count" N times, waits for all, and leaves

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <string>

#include "tessera/base/clock.h"
#include "tessera/base/filesystem.h"
#include "tessera/base/strings.h"
#include "tessera/coord/join.h"

namespace tessera::coord {
namespace {

Status live(Client& client) {
  std::string last;
  while (true) {
    ASSIGN_OR_RETURN(const LiveSet set, client.live_set());
    std::string text = "live:";
    for (const ProcessId& id : set.processes) str_append(&text, " ", id.process);
    if (text != last) std::cout << text << std::endl;
    last = text;
    usleep(20'000);
  }
}

Status count(Client& client, int times) {
  for (int i = 0; i < times; ++i) {
    RETURN_IF_ERROR(client.increment("count").status());
    usleep(2'000);
  }
  RETURN_IF_ERROR(client.barrier("counted", absl::Seconds(120)));
  ASSIGN_OR_RETURN(const std::string total, client.try_get("count"));
  std::cout << "count: " << total << std::endl;
  return client.shutdown();
}

Status run(const std::string& mode, int argument) {
  const Surroundings surroundings = real_surroundings();
  ClusterConfig config;
  RETURN_IF_ERROR(config.fill_from(surroundings.environment));
  ASSIGN_OR_RETURN(const auto spec, find_cluster(config, surroundings));
  if (!spec) return failed_precondition("no cluster");
  PosixFileSystem files;
  RealClock clock;
  ASSIGN_OR_RETURN(const auto membership, Membership::join(config, *spec, files, clock));
  Client& client = membership->client();
  std::cout << "ready" << std::endl;
  if (mode == "live") return live(client);
  if (mode == "count") return count(client, argument);
  while (client.failure().ok()) usleep(5'000);
  return client.failure();
}

}  // namespace
}  // namespace tessera::coord

int main(int count, char** arguments) {
  const tessera::Status status = tessera::coord::run(count > 1 ? arguments[1] : "idle",
                                                     count > 2 ? std::atoi(arguments[2]) : 0);
  if (status.ok()) return 0;
  std::cout << "failed: " << status << std::endl;
  return 3;
}
