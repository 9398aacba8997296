#pragma once

#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/status.h"
#include "tessera/ir/host_array.h"
#include "tessera/pjrt/client.h"

/// For tests only: a CPU plugin from the environment, shared by the tests of one process.
namespace tessera::pjrt::testing {

/// Devices that the test client has: enough for every mesh in the tests.
inline constexpr int kTestDevices = 8;

/// $TESSERA_TEST_PLUGIN, else $TESSERA_BUILD_DIR/lib/pjrt_cpu.so. NOT_FOUND, with both in the
/// message, when there is none.
Result<std::string> test_plugin_path();

/// The client of that plugin with kTestDevices devices, made at the first call and kept until the
/// process ends.
Result<Client*> test_client();

/// Compiles the module `text` for one device, runs its @main on `inputs`, and returns the outputs.
Result<std::vector<HostArray>> run_stablehlo(std::string_view text,
                                             std::span<const HostArray> inputs);

/// Waits for the callback of `source.on_ready()`, and returns the status that it got. A second call
/// ends the program.
template <typename Source>
Status await_callback(const Source& source) {
  const auto promise = std::make_shared<std::promise<Status>>();
  std::future<Status> called = promise->get_future();
  RETURN_IF_ERROR(source.on_ready([promise](const Status& status) { promise->set_value(status); }));
  return called.get();
}

}  // namespace tessera::pjrt::testing

/// Skips the test that stands around it where no plugin is built, and says so.
#define TESSERA_SKIP_WITHOUT_PLUGIN()                                      \
  do {                                                                     \
    const auto plugin_path = ::tessera::pjrt::testing::test_plugin_path(); \
    if (!plugin_path.ok()) GTEST_SKIP() << plugin_path.status().message(); \
  } while (false)
