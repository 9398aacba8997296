#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tessera/pjrt/client.h"
#include "tessera/runtime/compiled_function.h"
#include "tessera/sharding/mesh.h"

namespace tessera {

/// What this process sends to the others while it trains, against the least that the compiled step
/// asks for. Counts only between begin() and end(), so that validation and the like can be left
/// out. For one thread.
class TrafficMeter {
 public:
  /// Of a plugin that does not count, or of one process, nothing is ever told. `client` must
  /// outlive this. `step` runs on `mesh`, whose devices are of `processes`, by position.
  TrafficMeter(const pjrt::Client& client, const CompiledFunction& step, const Mesh& mesh,
               const std::vector<int64_t>& processes);

  /// Both when no step is under way; `step` is the newest that was run.
  void begin(int64_t step);
  void end(int64_t step);

  struct PerStep {
    double sent;   ///< bytes
    double least;  ///< bytes: see least_bytes_sent()
  };
  std::optional<PerStep> per_step() const;

 private:
  std::optional<uint64_t> sent() const;

  const pjrt::Client& client_;
  std::optional<double> least_;
  std::optional<uint64_t> began_at_;
  int64_t began_step_ = 0;
  uint64_t bytes_ = 0;
  int64_t steps_ = 0;
};

/// "1,234,567 bytes a step to other processes, 1.2 % above the least".
std::string to_string(const TrafficMeter::PerStep& traffic);

}  // namespace tessera
