#include "tessera/storage/s3_credentials.h"

#include <cstdlib>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"

namespace tessera {
namespace {

constexpr std::string_view kRemedy =
    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN for temporary ones), "
    "or "
    "AWS_PROFILE to a profile of ~/.aws/credentials, and for another store than AWS's "
    "AWS_ENDPOINT_URL";

class AccountSearch {
 public:
  AccountSearch(const Environment& environment, FileSystem& files)
      : environment_(environment), files_(files) {}

  Result<S3Account> find() {
    RETURN_IF_ERROR(read_profile());
    S3Account account;
    RETURN_IF_ERROR(find_keys(account));
    account.region = first({"AWS_REGION", "AWS_DEFAULT_REGION"}, "region");
    if (account.region.empty()) account.region = "us-east-1";
    account.endpoint = first({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}, "endpoint_url");
    while (account.endpoint.ends_with('/')) account.endpoint.pop_back();
    const std::string& endpoint = account.endpoint;
    const bool has_scheme = endpoint.starts_with("http://") || endpoint.starts_with("https://");
    if (endpoint.empty() || has_scheme) return account;
    return failed_precondition("AWS_ENDPOINT_URL is '", endpoint,
                               "'; it must begin with http:// or https://");
  }

 private:
  std::string variable(const std::string& name) const { return environment_(name).value_or(""); }

  std::string first(std::initializer_list<const char*> names, const std::string& key) const {
    for (const char* name : names) {
      if (std::string value = variable(name); !value.empty()) return value;
    }
    const auto found = profile_.find(key);
    return found == profile_.end() ? "" : found->second;
  }

  Status find_keys(S3Account& account) const {
    account.access_key_id = variable("AWS_ACCESS_KEY_ID");
    account.secret_access_key = variable("AWS_SECRET_ACCESS_KEY");
    account.session_token = variable("AWS_SESSION_TOKEN");
    if (account.access_key_id.empty() != account.secret_access_key.empty()) {
      return failed_precondition("of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY only one is set: ",
                                 kRemedy);
    }
    if (!account.access_key_id.empty()) return absl::OkStatus();
    account.access_key_id = first({}, "aws_access_key_id");
    account.secret_access_key = first({}, "aws_secret_access_key");
    account.session_token = first({}, "aws_session_token");
    if (!account.access_key_id.empty() && !account.secret_access_key.empty()) {
      return absl::OkStatus();
    }
    return failed_precondition("no credentials for S3 in the environment, nor as profile ", name_,
                               " in ", paths_, ": ", kRemedy);
  }

  /// Fills profile_ with the profile of both files; the credentials file wins.
  Status read_profile() {
    const std::string chosen = variable("AWS_PROFILE");
    name_ = chosen.empty() ? "default" : chosen;
    const std::string home = variable("HOME");
    std::string config = variable("AWS_CONFIG_FILE");
    std::string credentials = variable("AWS_SHARED_CREDENTIALS_FILE");
    if (config.empty() && !home.empty()) config = home + "/.aws/config";
    if (credentials.empty() && !home.empty()) credentials = home + "/.aws/credentials";
    paths_ = str_cat(credentials, " or ", config);
    bool found = false;
    ASSIGN_OR_RETURN(const bool in_config,
                     add(config, name_ == "default" ? name_ : "profile " + name_));
    ASSIGN_OR_RETURN(found, add(credentials, name_));
    if (found || in_config || chosen.empty()) return absl::OkStatus();
    return failed_precondition("AWS_PROFILE is ", chosen, ", but there is no such profile in ",
                               paths_);
  }

  Result<bool> add(const std::string& path, const std::string& section) {
    if (path.empty()) return false;
    const Result<std::string> text = files_.read_file(path);
    if (absl::IsNotFound(text.status())) return false;
    RETURN_IF_ERROR(text.status());
    const IniFile ini = parse_ini(*text);
    const auto found = ini.find(section);
    if (found == ini.end()) return false;
    for (const auto& [key, value] : found->second) profile_[key] = value;
    return true;
  }

  const Environment& environment_;
  FileSystem& files_;
  std::string name_, paths_;
  std::map<std::string, std::string> profile_;
};

}  // namespace

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return std::string(value);
  };
}

IniFile parse_ini(std::string_view text) {
  IniFile ini;
  std::string section;
  for (const absl::string_view raw : absl::StrSplit(to_absl(text), '\n')) {
    const absl::string_view line = absl::StripAsciiWhitespace(raw);
    if (line.empty() || line[0] == '#' || line[0] == ';') continue;
    if (line.front() == '[' && line.back() == ']') {
      section = std::string(absl::StripAsciiWhitespace(line.substr(1, line.size() - 2)));
      continue;
    }
    // Indented lines are settings inside a setting, such as those of `s3 =`.
    const size_t equals = line.find('=');
    if (equals == absl::string_view::npos || absl::ascii_isspace(raw[0])) continue;
    ini[section][std::string(absl::StripAsciiWhitespace(line.substr(0, equals)))] =
        std::string(absl::StripAsciiWhitespace(line.substr(equals + 1)));
  }
  return ini;
}

Result<S3Account> find_s3_account(const Environment& environment, FileSystem& files) {
  return AccountSearch(environment, files).find();
}

}  // namespace tessera
