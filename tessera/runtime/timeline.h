#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/clock.h"
#include "tessera/base/status.h"
#include "tessera/pjrt/executable.h"

namespace tessera {

/// What ran on the devices of this process, and when: a span for each launch of a compiled program,
/// transfers of device_put() included. A span begins when the launch can begin: it was made, its
/// arguments are there, and what was launched before on any of its devices has ended; so it is
/// never longer than the program ran. Spans of launches that fail end where the error is known.
/// Safe to use from several threads. Runtime::record() starts one.
class Timeline {
 public:
  /// `process` stands in the trace. `clock` must outlive this; those of several processes of one
  /// machine agree.
  Timeline(int process, const Clock& clock);

  struct Launch {
    std::string name;                 ///< of the program
    int64_t call = 0;                 ///< of this program, from 1
    std::vector<int64_t> device_ids;  ///< of this process, that run it
  };
  /// A span whose launch has not ended. Keep it until end().
  struct Span;
  /// To be called before the launch with all its arguments on these devices.
  std::shared_ptr<Span> begin(Launch launch, const std::vector<const pjrt::Buffer*>& arguments);
  /// To be called after the launch: it has ended when all of `done` are ready.
  void end(const std::shared_ptr<Span>& span, std::span<const pjrt::Event> done);

  struct Record {
    Launch launch;
    absl::Time begin, end;
    std::string error;  ///< empty when it ended well
  };
  /// Waits until all launches so far have ended; in the order of the launches.
  std::vector<Record> records() const;
  /// records() as a Chrome trace (chrome://tracing, ui.perfetto.dev): complete events in
  /// microseconds since 1970, `pid` the process, `tid` the first device, and in `args` the call
  /// and the devices.
  std::string chrome_trace() const;

 private:
  struct State;
  std::vector<absl::Time> ends_in_order() const;  // of the spans; the mutex is held

  const int process_;
  const std::shared_ptr<State> state_;  // callbacks of the plugin may come later than our end
};

}  // namespace tessera
