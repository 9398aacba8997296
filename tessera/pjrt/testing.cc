#include "tessera/pjrt/testing.h"

#include <cstdlib>
#include <filesystem>

#include "tessera/pjrt/cpu_environment.h"

namespace tessera::pjrt::testing {
namespace {

/// Ours takes the count as an option; other CPU plugins may read it from the environment.
Result<Client> create_client() {
  ASSIGN_OR_RETURN(const std::string path, test_plugin_path());
  prepare_cpu_environment(kTestDevices);
  ASSIGN_OR_RETURN(const Plugin plugin, Plugin::load(path));
  const NamedValue count{"cpu_device_count", int64_t{kTestDevices}};
  auto client = Client::create(plugin, {&count, 1});
  if (client.status().code() == absl::StatusCode::kInvalidArgument) client = Client::create(plugin);
  RETURN_IF_ERROR(client.status());
  if (client->devices().size() != kTestDevices) {
    return failed_precondition("plugin ", path, " gives ", client->devices().size(),
                               " devices, the tests need ", kTestDevices);
  }
  return client;
}

}  // namespace

Result<std::string> test_plugin_path() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return not_found("plugins are left out of sanitizer builds: they need RTLD_DEEPBIND");
#endif
  if (const char* path = std::getenv("TESSERA_TEST_PLUGIN")) return std::string(path);
  if (const char* build = std::getenv("TESSERA_BUILD_DIR")) {
    const std::string path = str_cat(build, "/lib/pjrt_cpu.so");
    if (std::filesystem::exists(path)) return path;
  }
  return not_found(
      "no plugin to test with: set TESSERA_TEST_PLUGIN to a PJRT CPU plugin's path, or "
      "TESSERA_BUILD_DIR to a build with lib/pjrt_cpu.so");
}

Result<Client*> test_client() {
  // Never destroyed: XLA's threads may outlive main.
  static auto* client = new Result<Client>(create_client());
  RETURN_IF_ERROR(client->status());
  return &client->value();
}

Result<std::vector<HostArray>> run_stablehlo(std::string_view text,
                                             std::span<const HostArray> inputs) {
  ASSIGN_OR_RETURN(Client * client, test_client());
  const Device& device = client->devices()[0];
  CompileOptions options;
  options.device_ids = {device.id()};
  ASSIGN_OR_RETURN(const Executable executable, client->compile(text, options));
  std::vector<Buffer> buffers;
  for (const HostArray& input : inputs) {
    ASSIGN_OR_RETURN(Buffer buffer, client->to_device(input, device));
    buffers.push_back(std::move(buffer));
  }
  std::vector<std::vector<const Buffer*>> arguments(1);
  for (const Buffer& buffer : buffers) arguments[0].push_back(&buffer);
  ASSIGN_OR_RETURN(const ExecuteResult result, executable.execute(arguments));
  std::vector<HostArray> outputs;
  for (const Buffer& buffer : result.outputs[0]) {
    ASSIGN_OR_RETURN(HostArray output, buffer.to_host());
    outputs.push_back(std::move(output));
  }
  return outputs;
}

}  // namespace tessera::pjrt::testing
