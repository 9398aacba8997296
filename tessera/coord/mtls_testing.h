#pragma once

#include <string>

/// Certificates made on the spot, for tests. None is ever stored with the source.
namespace tessera::coord {

struct CertificateRequest {
  std::string name = "tessera test";
  /// As OpenSSL writes them: "IP:127.0.0.1,DNS:localhost", "URI:spiffe://test/worker".
  std::string alternative_names = "IP:127.0.0.1,DNS:localhost";
  int valid_from_s = -60;  ///< from now
  int valid_until_s = 3600;
};

/// A certificate authority whose files are in a folder: NAME.ca.crt, and NAME.crt, NAME.key of each
/// certificate that it issues.
class TestAuthority {
 public:
  TestAuthority(std::string folder, std::string name);
  ~TestAuthority();
  TestAuthority(const TestAuthority&) = delete;
  TestAuthority& operator=(const TestAuthority&) = delete;

  std::string ca_file() const { return folder_ + "/" + name_ + ".ca.crt"; }
  /// Writes or replaces folder/`file`.crt and .key.
  void issue(const std::string& file, const CertificateRequest& request) const;

 private:
  struct Keys;
  std::string folder_, name_;
  Keys* keys_;
};

}  // namespace tessera::coord
