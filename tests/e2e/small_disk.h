#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace tessera::e2e {

/// A file system of its own, in memory and small, that may be made full. This process and those
/// that it starts see it, and no others.
class SmallDisk {
 public:
  /// At `folder`, which is made; null where this user may not mount. To be called before there are
  /// threads.
  static std::unique_ptr<SmallDisk> mount_at(const std::string& folder, int64_t bytes);
  ~SmallDisk();
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  /// Takes all that is free, until empty().
  void fill() const;
  void empty() const;

 private:
  explicit SmallDisk(std::string folder) : folder_(std::move(folder)) {}
  std::string filler() const { return folder_ + "/filler"; }

  const std::string folder_;
};

}  // namespace tessera::e2e
