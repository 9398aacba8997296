#include "tessera/storage/s3_credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/base/memory_store.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class CredentialsTest : public ::testing::Test {
 protected:
  Result<S3Account> find(std::map<std::string, std::string> variables) {
    return find_s3_account(
        [&](const std::string& name) -> std::optional<std::string> {
          const auto found = variables.find(name);
          if (found == variables.end()) return std::nullopt;
          return found->second;
        },
        files_);
  }
  void write(const std::string& path, std::string_view text) {
    ASSERT_TRUE(files_.write_file_atomic(path, text).ok());
  }
  void write_profiles() {
    write("/user/.aws/credentials",
          "# mine\n[default]\naws_access_key_id = D1\naws_secret_access_key=D2\n\n"
          "[work]\naws_access_key_id=W1\naws_secret_access_key=W2=/+\naws_session_token=W3\n");
    write("/user/.aws/config",
          "[default]\nregion = eu-west-1\ns3 =\n  endpoint_url = http://no\n"
          "[profile work]\nregion=eu-north-1\nendpoint_url=http://store:9000/\n"
          "[profile whole]\naws_access_key_id=C1\naws_secret_access_key=C2\n");
  }

  MemoryStore files_;
};

TEST_F(CredentialsTest, TheEnvironmentComesFirst) {
  write_profiles();
  const auto account = find({{"HOME", "/user"},
                             {"AWS_ACCESS_KEY_ID", "E1"},
                             {"AWS_SECRET_ACCESS_KEY", "E2"},
                             {"AWS_SESSION_TOKEN", "E3"},
                             {"AWS_DEFAULT_REGION", "us-west-2"},
                             {"AWS_ENDPOINT_URL", "http://127.0.0.1:9000"}});
  ASSERT_TRUE(account.ok()) << account.status();
  EXPECT_EQ(account->access_key_id, "E1");
  EXPECT_EQ(account->secret_access_key, "E2");
  EXPECT_EQ(account->session_token, "E3");
  EXPECT_EQ(account->region, "us-west-2");
  EXPECT_EQ(account->endpoint, "http://127.0.0.1:9000");
}

TEST_F(CredentialsTest, ThenTheProfile) {
  write_profiles();
  auto account = find({{"HOME", "/user"}});
  ASSERT_TRUE(account.ok()) << account.status();
  EXPECT_EQ(account->access_key_id, "D1");
  EXPECT_EQ(account->region, "eu-west-1");
  EXPECT_EQ(account->endpoint, "") << "not of a nested setting";
  account = find({{"HOME", "/user"}, {"AWS_PROFILE", "work"}, {"AWS_REGION", "us-east-2"}});
  ASSERT_TRUE(account.ok()) << account.status();
  EXPECT_EQ(account->secret_access_key, "W2=/+");
  EXPECT_EQ(account->session_token, "W3");
  EXPECT_EQ(account->region, "us-east-2");
  EXPECT_EQ(account->endpoint, "http://store:9000");
  account = find({{"HOME", "/user"}, {"AWS_PROFILE", "whole"}});
  ASSERT_TRUE(account.ok()) << account.status();
  EXPECT_EQ(account->secret_access_key, "C2");
}

TEST_F(CredentialsTest, FilesMayBeElsewhere) {
  write("/other", "[default]\naws_access_key_id=O1\naws_secret_access_key=O2\n");
  const auto account = find({{"AWS_SHARED_CREDENTIALS_FILE", "/other"}});
  ASSERT_TRUE(account.ok()) << account.status();
  EXPECT_EQ(account->access_key_id, "O1");
  EXPECT_EQ(account->region, "us-east-1");
}

TEST_F(CredentialsTest, WhatIsMissingIsNamedAndSecretsAreNot) {
  const std::string none(find({{"HOME", "/user"}}).status().message());
  EXPECT_THAT(none, AllOf(HasSubstr("AWS_ACCESS_KEY_ID"), HasSubstr("AWS_PROFILE"),
                          HasSubstr("/user/.aws/credentials")));
  const std::string half(find({{"AWS_SECRET_ACCESS_KEY", "hidden"}}).status().message());
  EXPECT_THAT(half, AllOf(HasSubstr("only one is set"), Not(HasSubstr("hidden"))));
  write_profiles();
  EXPECT_THAT(std::string(find({{"HOME", "/user"}, {"AWS_PROFILE", "nobody"}}).status().message()),
              HasSubstr("AWS_PROFILE is nobody"));
  const std::string endpoint(
      find({{"HOME", "/user"}, {"AWS_ENDPOINT_URL", "127.0.0.1:9000"}}).status().message());
  EXPECT_THAT(endpoint, HasSubstr("must begin with http://"));
}

}  // namespace
}  // namespace tessera
