#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "tessera/base/filesystem.h"
#include "tessera/base/strings.h"

/// For tests only.
namespace tessera {

/// A folder of its own, removed with everything in it at the end.
class TempFolder {
 public:
  enum Place {
    kDisk,
    kMemory,  ///< where the system has it: a disk makes thousands of small files slow
  };
  explicit TempFolder(Place place = kDisk) {
    const bool in_memory = place == kMemory && ::access("/dev/shm", W_OK) == 0;
    std::string name =
        join_path(in_memory ? "/dev/shm" : std::filesystem::temp_directory_path().string(),
                  "tessera-test-XXXXXX");
    CHECK_MSG(mkdtemp(name.data()) != nullptr, "cannot make " + name);
    path_ = name;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  /// The path of `name` in it.
  std::string operator/(std::string_view name) const { return join_path(path_, name); }
  /// Writes a file in it, with the folders that it needs, and returns its path.
  std::string write(std::string_view name, std::string_view text) const {
    const std::string path = *this / name;
    CHECK(disk().create_dirs(parent_path(path)).ok());
    CHECK(disk().write_file(path, {std::as_bytes(std::span(text))}).ok());
    return path;
  }
  std::string read(std::string_view name) const {
    const Result<std::string> text = disk().read_file(*this / name);
    CHECK_MSG(text.ok(), text.status().ToString());
    return *text;
  }

  /// The disk, which has no state.
  PosixFileSystem& disk() const { return disk_; }

 private:
  std::string path_;
  mutable PosixFileSystem disk_;
};

}  // namespace tessera
