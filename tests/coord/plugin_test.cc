// gRPC, OpenSSL and protobuf of the system, and the ones inside XLA's libraries, in one process.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "tessera/coord/client.h"
#include "tessera/coord/mtls_testing.h"
#include "tessera/coord/server.h"
#include "tessera/pjrt/testing.h"

namespace tessera::coord {
namespace {

constexpr std::string_view kAdd = R"(
  module @add { func.func public @main(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.add %a, %b : tensor<2xf32>
    return %0 : tensor<2xf32> } })";

Status run_a_program() {
  const HostArray one = HostArray::from<float>(DType::kF32, {2}, std::vector<float>{1, 2});
  ASSIGN_OR_RETURN(const auto sums,
                   pjrt::testing::run_stablehlo(kAdd, std::vector<HostArray>{one, one}));
  if (sums[0].as<float>()[1] == 4) return absl::OkStatus();
  return internal_error("2 + 2 is ", sums[0].as<float>()[1]);
}

Status join_and_leave(const MtlsConfig& mtls) {
  PosixFileSystem files;
  RealClock clock;
  ASSIGN_OR_RETURN(const auto server, Server::start({.mtls = mtls}, files, clock));
  ASSIGN_OR_RETURN(
      const auto client,
      Client::connect({.coordinator = str_cat("127.0.0.1:", server->port()), .mtls = mtls}, clock));
  RETURN_IF_ERROR(client->insert("a", "b"));
  RETURN_IF_ERROR(run_a_program());  // with both at work
  ASSIGN_OR_RETURN(const std::string value, client->try_get("a"));
  if (value != "b") return internal_error("the value is ", value);
  return client->shutdown();
}

TEST(CoordinatorBesideThePlugin, WorksBeforeAndAfterItIsLoaded) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  std::string folder = (std::filesystem::temp_directory_path() / "beside-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const TestAuthority authority(folder, "test");
  authority.issue("both", {});
  const MtlsConfig mtls = {.cert_file = folder + "/both.crt",
                           .key_file = folder + "/both.key",
                           .ca_file = authority.ca_file()};
  for (int i = 0; i < 2; ++i) {
    const Status status = join_and_leave(mtls);
    EXPECT_TRUE(status.ok()) << status;
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tessera::coord
