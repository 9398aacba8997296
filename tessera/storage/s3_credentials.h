#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "tessera/base/filesystem.h"
#include "tessera/base/status.h"

namespace tessera {

/// Who asks, and where. The secrets appear in no message.
struct S3Account {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token;  // empty: none
  std::string region = "us-east-1";
  std::string endpoint;  // "http://127.0.0.1:9000"; empty: AWS's for the region
};

/// Environment variables; for tests any function.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
Environment process_environment();

/// Keys by section of a file in the format of ~/.aws/credentials and ~/.aws/config.
using IniFile = std::map<std::string, std::map<std::string, std::string>>;
IniFile parse_ini(std::string_view text);

/// As AWS's own tools have it: AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN;
/// else the profile AWS_PROFILE, or `default`, of AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials)
/// or AWS_CONFIG_FILE (~/.aws/config). The region: AWS_REGION, AWS_DEFAULT_REGION, the profile's.
/// The endpoint: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, the profile's endpoint_url.
/// FAILED_PRECONDITION says what to set when there are none.
Result<S3Account> find_s3_account(const Environment& environment, FileSystem& files);

}  // namespace tessera
