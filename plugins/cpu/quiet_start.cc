// TensorFlow, whose libraries hold XLA, logs a line about its own operations from a static
// initializer, past every log threshold, each time it is loaded. Only its variable
// TF_ENABLE_ONEDNN_OPTS silences it: "0" turns off something of TensorFlow's that XLA does not use.
// It must be set before the libraries initialize, that is before any code of this one would run. An
// ifunc resolver does: the loader calls it while relocating, and relocates all libraries before it
// initializes the first. (The library is linked with -z now, or a caller's RTLD_LAZY would leave
// getenv unresolved.) A value that the user has set is kept, and ours is taken back once it has
// been read.
#include <cstdlib>

namespace {

constexpr char kVariable[] = "TF_ENABLE_ONEDNN_OPTS";
bool set_by_us = false;

}  // namespace

extern "C" {

static void do_nothing() {}

static void (*resolve_quiet_start())() {
  if (std::getenv(kVariable) == nullptr) set_by_us = setenv(kVariable, "0", 0) == 0;
  return do_nothing;
}

__attribute__((visibility("hidden"), ifunc("resolve_quiet_start"))) void tessera_quiet_start();
}

namespace {

// Runs after the initializers of the libraries that this one depends on; the call makes the loader
// resolve the function.
__attribute__((constructor)) void end_quiet_start() {
  tessera_quiet_start();
  if (set_by_us) unsetenv(kVariable);
}

}  // namespace
