#pragma once

#include <memory>
#include <string>

#include "tessera/base/filesystem.h"
#include "tessera/base/status.h"
#include "tessera/coord/mtls.h"

/// Files of one process that the others of its run read and write over the network, whole files of
/// any size: what the coordinator is not for.
namespace tessera::coord {

/// Serves the files below one folder, and nothing outside it, until it is destroyed.
class PeerFileServer {
 public:
  struct Options {
    std::string folder;
    std::string bind = "127.0.0.1:0";  ///< "host:port"; port 0: any that is free
    MtlsConfig mtls;
  };

  /// `files` outlives this. The folder need not be there yet.
  static Result<std::unique_ptr<PeerFileServer>> start(FileSystem& files, Options options);
  virtual ~PeerFileServer() = default;
  virtual int port() const = 0;
};

/// Another process's files. Paths are below the folder that it serves. Files can be opened, made
/// and looked up (stat, exists); whatever else a file system does is UNIMPLEMENTED: it is for
/// that process to do. A connection that breaks is made again; after about a minute without an
/// answer a call is UNAVAILABLE, and names the address.
std::unique_ptr<FileSystem> open_peer_files(const std::string& address, const MtlsConfig& mtls);

/// The address of this machine's interface that `destination` ("host:port") is reached through: the
/// one by which that machine, and its neighbours, reach this one. Sends nothing.
Result<std::string> own_address_towards(const std::string& destination);

}  // namespace tessera::coord
