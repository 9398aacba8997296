#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tessera/base/status.h"

/// What the benchmark programs share: each prints one JSON line for itself, and one for each peer
/// it was asked to run.
namespace tessera::bench {

/// Largest resident set of this process so far, in MB.
double peak_rss_mb();
/// Seconds since this process was started by the kernel; its clock ticks 100 times a second.
double process_age_s();
/// Runs a peer's Python script from bench/peers in the foreign programs' environment, its output
/// and errors going to ours. An error tells how to get the environment.
Status run_peer(std::string_view script, std::string_view arguments);

}  // namespace tessera::bench
