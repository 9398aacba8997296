#include "tessera/coord/peer_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/base/testing.h"
#include "tessera/base/thread.h"
#include "tessera/coord/mtls_testing.h"

namespace tessera::coord {
namespace {

using ::testing::HasSubstr;

std::string pattern(size_t bytes, uint32_t state) {
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return text;
}

class PeerFilesTest : public ::testing::Test {
 protected:
  void serve(const MtlsConfig& mtls = {}) {
    auto server = PeerFileServer::start(
        folder_.disk(), {.folder = folder_ / "served", .bind = "127.0.0.1:0", .mtls = mtls});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    ASSERT_TRUE(folder_.disk().create_dirs(folder_ / "served/a").ok());
  }
  std::string address() const { return str_cat("127.0.0.1:", server_->port()); }

  TempFolder folder_{TempFolder::kMemory};
  std::unique_ptr<PeerFileServer> server_;
};

TEST_F(PeerFilesTest, ReadsAndWritesFilesOfAnySize) {
  serve();
  const auto peer = open_peer_files(address(), {});
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{4} << 20, (size_t{9} << 20) + 7}) {
    const std::string text = pattern(bytes, 7);
    const auto file = peer->create_file("a/file");
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->append(std::string_view(text).substr(0, bytes / 3)).ok());
    ASSERT_TRUE((*file)->append(std::string_view(text).substr(bytes / 3)).ok());
    ASSERT_TRUE((*file)->sync().ok());
    ASSERT_TRUE((*file)->close().ok());
    EXPECT_EQ(folder_.read("served/a/file"), text);
    EXPECT_EQ(*peer->file_size("a/file"), static_cast<int64_t>(bytes));
    EXPECT_EQ(*peer->read_file("a/file"), text);
    std::string part(bytes / 2, '\0');
    ASSERT_TRUE(
        peer->read_range("a/file", bytes / 4, std::as_writable_bytes(std::span(part))).ok());
    EXPECT_EQ(part, text.substr(bytes / 4, bytes / 2));
  }
}

TEST_F(PeerFilesTest, ManyAtOnce) {
  serve();
  const auto peer = open_peer_files(address(), {});
  ThreadPool pool("client", 8, 64);
  std::vector<Status> results(32);
  parallel_for(pool, results.size(), [&](size_t i) {
    const std::string text = pattern(100'000 * i, static_cast<uint32_t>(i));
    const std::string path = str_cat("a/", i);
    results[i] = peer->write_file(path, {std::as_bytes(std::span(text))});
    const auto back = peer->read_file(path);
    if (results[i].ok()) results[i] = back.status();
    if (results[i].ok() && *back != text) results[i] = data_loss(path);
  });
  for (const Status& status : results) EXPECT_TRUE(status.ok()) << status;
}

TEST_F(PeerFilesTest, GivesNothingOutsideTheFolder) {
  serve();
  folder_.write("secret", "of this machine");
  const auto peer = open_peer_files(address(), {});
  for (const std::string path : {"../secret", "a/../../secret", "/etc/hostname", "", "a//b", "."}) {
    EXPECT_EQ(peer->stat(path).status().code(), absl::StatusCode::kInvalidArgument) << path;
    EXPECT_FALSE(peer->write_file(path, {}).ok()) << path;
  }
  EXPECT_EQ(folder_.read("secret"), "of this machine");
}

TEST_F(PeerFilesTest, SaysWhatIsWrong) {
  serve();
  const auto peer = open_peer_files(address(), {});
  EXPECT_EQ(peer->open_file("a/none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(peer->open_file("a/none").status().message()), HasSubstr(address()));
  EXPECT_EQ(peer->write_file("nowhere/file", {}).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(peer->remove("a/file").code(), absl::StatusCode::kUnimplemented);
  folder_.write("served/a/short", "abc");
  const auto file = peer->open_file("a/short");
  ASSERT_TRUE(file.ok());
  std::byte out[4];
  EXPECT_EQ((*file)->read_at(0, out).code(), absl::StatusCode::kOutOfRange);
  const std::string gone = address();
  server_.reset();
  const Status status = peer->stat("a/short").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr(gone));
}

TEST_F(PeerFilesTest, AFileBegunTwiceHoldsTheSecond) {
  serve();
  const auto peer = open_peer_files(address(), {});
  const std::string first = pattern(size_t{5} << 20, 1), second = pattern(size_t{6} << 20, 2);
  auto dropped = peer->create_file("a/file");
  ASSERT_TRUE((*dropped)->append(std::string_view(first)).ok());
  dropped->reset();  // its process died
  ASSERT_TRUE(peer->write_file("a/file", {std::as_bytes(std::span(second))}).ok());
  EXPECT_EQ(folder_.read("served/a/file"), second);
}

TEST_F(PeerFilesTest, AsksForCertificates) {
  const TestAuthority authority(folder_.path(), "one"), other(folder_.path(), "other");
  authority.issue("server", {});
  authority.issue("client", {});
  other.issue("stranger", {});
  const auto config = [&](const std::string& name, const TestAuthority& ca) {
    MtlsConfig mtls;
    mtls.cert_file = folder_ / (name + ".crt");
    mtls.key_file = folder_ / (name + ".key");
    mtls.ca_file = ca.ca_file();
    return mtls;
  };
  serve(config("server", authority));
  const std::string text = pattern(1000, 1);
  const auto friendly = open_peer_files(address(), config("client", authority));
  EXPECT_TRUE(friendly->write_file("a/file", {std::as_bytes(std::span(text))}).ok());
  EXPECT_EQ(*friendly->read_file("a/file"), text);
  EXPECT_FALSE(open_peer_files(address(), {})->stat("a/file").ok());
  EXPECT_FALSE(open_peer_files(address(), config("stranger", other))->stat("a/file").ok());
}

TEST(OwnAddressTest, IsThatOfTheInterface) {
  EXPECT_EQ(*own_address_towards("127.0.0.1:80"), "127.0.0.1");
  EXPECT_FALSE(own_address_towards("nowhere").ok());
}

}  // namespace
}  // namespace tessera::coord
