#include "bench/bench.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace tessera::bench {

double peak_rss_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

double rss_mb() {
  std::ifstream file("/proc/self/statm");
  double pages = 0;
  file >> pages >> pages;  // all of the address space, then what is resident
  return pages * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

Switches switches() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {.voluntary = usage.ru_nvcsw, .involuntary = usage.ru_nivcsw};
}

double process_age_s() {
  std::ifstream file("/proc/self/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::istringstream fields(text.substr(text.rfind(')') + 2));  // the name before may hold spaces
  std::string field;
  for (int i = 3; i <= 22; ++i) fields >> field;  // field 22: start, in ticks since boot
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  const double started = std::stod(field) / static_cast<double>(sysconf(_SC_CLK_TCK));
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9 - started;
}

double process_cpu_s() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

std::string cache_folder() {
  const char* cache = std::getenv("TESSERA_CACHE");
  const char* home = std::getenv("HOME");
  return cache ? cache : str_cat(home ? home : "", "/.cache/tessera");
}

Status run_peer(std::string_view script, std::string_view arguments, std::string_view environment) {
  const std::string python = str_cat(cache_folder(), "/", environment, "/bin/python");
  if (!std::filesystem::exists(python))
    return not_found(python, " is missing: run `scripts/setup --foreign` first");
  const std::string command =
      str_cat(python, " ", TESSERA_BENCH_FOLDER, "/peers/", script, " ", arguments);
  if (std::system(command.c_str()) != 0) return internal_error("the peer failed: ", command);
  return absl::OkStatus();
}

}  // namespace tessera::bench
