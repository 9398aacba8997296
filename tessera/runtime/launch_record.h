#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "tessera/base/status.h"

namespace tessera {

/// What a process launched lately on devices of several processes: see launch_order.h.
struct LaunchRecord {
  struct Group {
    std::vector<int> processes;  ///< ascending
    int64_t count = 0;           ///< launches so far
    uint64_t digest = 0;         ///< of all of them
  };
  struct Program {
    std::string name;
    std::string mesh;
    uint64_t hash = 0;
    std::string group;
  };
  struct Launch {
    size_t program = 0;
    int64_t number = 0;   ///< in its group, from 1
    uint64_t digest = 0;  ///< of the group, this launch included
    absl::Duration when;  ///< is not written
  };

  uint64_t start = 0;  ///< differs between two starts of a process
  std::string epoch;
  bool ended = false;                   ///< it launches no more
  std::map<std::string, Group> groups;  ///< by group_name()
  std::vector<Program> programs;
  std::vector<Launch> launches;  ///< the newest, in their order

  /// One process's launch of that number in a group, where it is among the newest.
  const Launch* find(const std::string& group, int64_t number) const;
  /// The digest after that number, where it is known.
  std::optional<uint64_t> digest(const std::string& group, int64_t number) const;

  /// As JSON, with the newest `most` launches.
  std::string to_text(size_t most) const;
  static Result<LaunchRecord> parse(std::string_view text);
};

/// "0, 1".
std::string group_name(const std::vector<int>& processes);

/// How processes `p` and `q`, with these records, have diverged, as a sentence that names both
/// operations; empty where they have not, as far as the records tell.
std::string find_divergence(int p, const LaunchRecord& of_p, int q, const LaunchRecord& of_q);

/// "'train_step' over data=2 (devices 0, 2048)".
std::string to_string(const LaunchRecord::Program& program);

}  // namespace tessera
