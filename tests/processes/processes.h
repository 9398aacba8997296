#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tessera/coord/client.h"
#include "tessera/live/member_watch.h"
#include "tessera/pjrt/client.h"

/// For tests of several real processes: each runs a body of the test program itself, started again
/// as a child, and all meet at a coordinator on loopback in the test's process. A test target lists
/// `tessera_process_testing` in its DEPS, which also brings main():
///
///     TESSERA_PROCESS_BODY(sum_of_ids) {       // static Status, takes `Member& member`
///       ASSIGN_OR_RETURN(pjrt::Client client, member.client());
///       ...
///       member.say("sum: ", sum);
///       return absl::OkStatus();
///     }
///     TEST(Sum, OfAllIds) {
///       for (const Ended& one : run_processes("sum_of_ids", {.processes = 2, .devices = 4})) {
///         EXPECT_EQ(one.exit_code, 0) << one.output;
///         EXPECT_THAT(one.output, HasSubstr("sum: "));
///       }
///     }
namespace tessera::process_testing {

/// This process in a body.
class Member {
 public:
  /// `watch` is told what `coordinator` tells, and outlives this.
  Member(int devices, std::unique_ptr<coord::Client> coordinator, MemberWatch& watch);
  ~Member();

  int process() const { return coordinator_->process(); }
  int processes() const { return coordinator_->processes(); }
  int devices() const { return devices_; }
  coord::Client& coordinator() { return *coordinator_; }
  MemberWatch& watch() { return watch_; }

  /// A client of our CPU plugin, with devices() devices, together with all the others. It is told
  /// of processes that die and come back, as the coordinator tells of them; so there may be one.
  Result<pjrt::Client*> client(std::vector<pjrt::NamedValue> options = {},
                               std::optional<int64_t> slice = std::nullopt);

  /// Writes a line that the test finds in Ended::output.
  template <typename... Args>
  void say(const Args&... args) {
    print(str_cat(args...));
  }
  /// Waits for all others that call it with this name; at most a minute.
  Status meet(const std::string& name);
  /// What the test passed in RunOptions::environment; empty when nothing.
  static std::string setting(const std::string& name);

 private:
  static void print(const std::string& line);

  const int devices_;
  MemberWatch& watch_;
  std::unique_ptr<coord::Client> coordinator_;
  std::unique_ptr<pjrt::Client> client_;  // uses coordinator_
};

using Body = Status (*)(Member&);
/// Keeps `body` under `name` for the children; true.
bool add_body(const char* name, Body body);

struct RunOptions {
  int processes = 2;
  int devices = 1;              ///< of each process
  std::vector<int> devices_of;  ///< by process, where they differ
  bool recoverable = false;     ///< the others go on when one dies
  absl::Duration heartbeat_timeout = absl::Seconds(30);
  std::map<std::string, std::string> environment;
  absl::Duration longest = absl::Seconds(180);  ///< then what still runs is killed
};

struct Ended {
  int exit_code = -1;  ///< 0: the body returned OK; 3: an error; 128 + n: signal n; 124: too long
  std::string output;  ///< both streams; of an error the line "failed: ..."
};

/// Processes of one body that have been started. Kills what still runs when it is destroyed.
class Processes {
 public:
  Processes(const std::string& body, const RunOptions& options);
  ~Processes();

  /// Sends a signal to one that runs.
  void signal(int process, int signal);
  /// Waits until its output so far holds `text`, `times` times; false when it ends or `longest` is
  /// over first.
  bool says(int process, const std::string& text, int times = 1);
  std::string output(int process) const;
  /// Starts one that has ended again: another incarnation, the output goes on.
  void start_again(int process);
  /// Waits for one.
  Ended wait(int process);
  /// Waits for all.
  std::vector<Ended> wait();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Starts the processes and waits for all of them.
std::vector<Ended> run_processes(const std::string& body, const RunOptions& options);

}  // namespace tessera::process_testing

#define TESSERA_PROCESS_BODY(name)                                           \
  static ::tessera::Status name(::tessera::process_testing::Member& member); \
  [[maybe_unused]] static const bool name##_is_there =                       \
      ::tessera::process_testing::add_body(#name, &name);                    \
  static ::tessera::Status name([[maybe_unused]] ::tessera::process_testing::Member& member)
