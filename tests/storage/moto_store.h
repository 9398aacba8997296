#pragma once

#include <sys/types.h>

#include <string>

#include "tessera/storage/s3_filesystem.h"

namespace tessera::storage_testing {

/// For tests: moto's S3 server in a process of its own on loopback, with the bucket "bucket". It
/// verifies signatures. Ends with this.
class MotoStore {
 public:
  MotoStore();
  ~MotoStore();
  MotoStore(const MotoStore&) = delete;
  MotoStore& operator=(const MotoStore&) = delete;

  int port() const { return account_port_; }
  /// Who may do anything there. `port`: of a proxy before it.
  S3Account account(int port = 0) const;

 private:
  pid_t child_ = -1;
  int stdin_ = -1;
  int account_port_ = 0;
  std::string key_, secret_;
};

}  // namespace tessera::storage_testing
