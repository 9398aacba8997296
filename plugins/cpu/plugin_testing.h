// For the plugin's tests: loads it as a program would, and wraps the C API so that a test reads as
// what it tests.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "xla/pjrt/c/pjrt_c_api.h"

namespace tessera::pjrt_cpu {

/// The table of the plugin, loaded with RTLD_LOCAL | RTLD_DEEPBIND and initialized, once a process.
const PJRT_Api& api();

/// An argument struct with its size set.
template <typename Args>
Args make_args(size_t size) {
  Args args{};
  args.struct_size = size;
  return args;
}
#define ARGS(function) ::tessera::pjrt_cpu::make_args<function##_Args>(function##_Args_STRUCT_SIZE)

/// An error taken apart; code OK and no message when there was none. Destroys the error.
struct Outcome {
  PJRT_Error_Code code = PJRT_Error_Code_OK;
  std::string message;
  bool ok() const { return code == PJRT_Error_Code_OK; }
};
Outcome outcome(PJRT_Error* error);

/// Calls a table function that must succeed.
#define CALL(function, args)                                                   \
  do {                                                                         \
    const auto result = ::tessera::pjrt_cpu::outcome(api().function(&(args))); \
    ASSERT_TRUE(result.ok()) << #function << ": " << result.message;           \
  } while (false)
/// Calls one that must fail with `expected_code` and a message that contains `text`.
#define CALL_FAILS(function, args, expected_code, text)                           \
  do {                                                                            \
    const auto result = ::tessera::pjrt_cpu::outcome(api().function(&(args)));    \
    EXPECT_EQ(result.code, expected_code) << #function << ": " << result.message; \
    EXPECT_NE(result.message.find(text), std::string::npos)                       \
        << #function << ": " << result.message;                                   \
  } while (false)

struct Option {
  std::string name;
  int64_t value = 0;
  std::string text;  // when not empty, the option is a string
};
Outcome create_client(const std::vector<Option>& options, PJRT_Client** client);

/// Waits for what the plugin's threads do after an event that they have already signalled, such as
/// to drop their references to the memory: true once `condition` holds, false after half a minute.
bool holds_soon(const std::function<bool()>& condition);

/// Compile options, serialized: partitions over devices 0, 1, ...; or replicas.
std::string compile_options(int replicas = 1, int partitions = 1, bool shardy = false);

/// A client of some devices for each test.
class ClientTest : public ::testing::Test {
 protected:
  void start(int devices, int64_t memory_limit = 0);
  void TearDown() override;

  PJRT_Device* device(int i = 0) { return devices_.at(i); }
  /// A dense array on a device; null after a failure, which the test has then recorded.
  PJRT_Buffer* put(PJRT_Buffer_Type type, const std::vector<int64_t>& dims, const void* data,
                   int device = 0);
  PJRT_Buffer* put_f32(const std::vector<float>& values, int device = 0);
  /// The bytes of an array in row-major order.
  std::vector<char> get(PJRT_Buffer* buffer);
  std::vector<float> get_f32(PJRT_Buffer* buffer);
  /// Awaits and destroys an event.
  Outcome await(PJRT_Event* event);
  bool is_deleted(PJRT_Buffer* buffer);
  void destroy(PJRT_Buffer* buffer);

  Outcome compile(std::string program, const std::string& options,
                  PJRT_LoadedExecutable** executable, std::string_view format = "mlir");
  PJRT_LoadedExecutable* compile(const std::string& program,
                                 const std::string& options = compile_options());
  /// Runs on every device: arguments[device][argument]. Destroyed with the test: what it returns.
  Outcome execute(PJRT_LoadedExecutable* executable,
                  const std::vector<std::vector<PJRT_Buffer*>>& arguments, size_t outputs,
                  std::vector<std::vector<PJRT_Buffer*>>* results,
                  std::vector<int64_t> non_donatable = {});
  void destroy(PJRT_LoadedExecutable* executable);
  PJRT_Executable* executable_of(PJRT_LoadedExecutable* loaded);
  void destroy_executable(PJRT_Executable* executable);

  PJRT_Client* client_ = nullptr;
  std::vector<PJRT_Device*> devices_;
};

}  // namespace tessera::pjrt_cpu
