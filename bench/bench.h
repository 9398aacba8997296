#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tessera/base/status.h"

/// What the benchmark programs share: each prints one JSON line for itself, and one for each peer
/// it was asked to run.
namespace tessera::bench {

/// Largest resident set of this process so far, in MB.
double peak_rss_mb();
/// What is resident of this process now, in MB.
double rss_mb();
/// How often threads of this process have stopped running so far: because they waited, and because
/// the system gave their core to another.
struct Switches {
  int64_t voluntary = 0, involuntary = 0;
};
Switches switches();
/// Seconds since this process was started by the kernel; its clock ticks 100 times a second.
double process_age_s();
/// Seconds of processor time that all threads of this process have used: on a machine that is busy
/// with other things it says more than the clock.
double process_cpu_s();
/// The folder of what scripts/setup fetched.
std::string cache_folder();
/// Runs a peer's Python script from bench/peers in one of the environments that `scripts/setup
/// --foreign` makes, its output and errors going to ours. An error tells how to get it.
Status run_peer(std::string_view script, std::string_view arguments,
                std::string_view environment = "venv-foreign");

}  // namespace tessera::bench
