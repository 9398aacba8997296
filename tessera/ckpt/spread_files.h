#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tessera/base/limited_filesystem.h"
#include "tessera/ckpt/spread_index.h"

namespace tessera {

/// Checkpoints whose files are spread over places that no one process sees all of, as one folder
/// that can be read: a spread checkpoint is in several folders, one a process that saved it, each
/// with the manifest and the Zarr texts, and with some of the chunk files. Reads a file from the
/// first place that has it, and from another one where that fails. Read only; what else a file
/// system does is UNIMPLEMENTED.
///
/// Where parts of two saves of one step are there, those of which more files are there count: the
/// same ones in every process that is given the same places, in whatever order.
class SpreadFiles final : public LimitedFileSystem {
 public:
  struct Place {
    FileSystem* files = nullptr;  // outlives this
    std::string path;             // of the place there
    PlaceIndex index;
  };

  /// `name` is the path of the folder that this is: of what is below it.
  SpreadFiles(std::string name, std::vector<Place> places);

  Result<std::unique_ptr<ReadableFile>> open_file(const std::string& path) override;
  Result<std::vector<FileInfo>> list(const std::string& path) override;
  Result<FileInfo> stat(const std::string& path) override;
  bool another_copy(const std::string& path) override;

 private:
  Status refuse(const std::string& path) const override;

  struct Copy {
    FileSystem* files;
    std::string path;
  };
  struct File {
    int64_t size_bytes = 0;
    std::vector<Copy> copies;
    size_t first = 0;  // to try; guarded by mutex_, as the next
    size_t damages = 0;
  };

  void add(int64_t step, const std::vector<Place>& places);
  /// Below name_; nothing for what is not.
  std::string relative(const std::string& path) const;

  const std::string name_;
  std::mutex mutex_;
  std::map<std::string, File> files_;  // by the path below name_
};

}  // namespace tessera
