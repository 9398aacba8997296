#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "tessera/base/filesystem.h"
#include "tessera/base/status.h"
#include "tessera/data/token_store_manifest.h"

namespace tessera {

inline constexpr std::string_view kProgressFile = "progress.json";
/// In the folder that becomes the store: locked (folder_lock.h) by the process that writes it.
inline constexpr char kLockFile[] = "lock";

/// How far a store had been written, as the writer's process last said: progress.json in the folder
/// that becomes the store.
struct StoreProgress {
  std::string key;   ///< What is written: inputs and options. Only the same goes on from there.
  std::string note;  ///< The caller's own.
  int64_t tokens = 0;
  int64_t documents = 0;
  std::map<std::string, StoredFile> files;  ///< Their parts that count; files may be longer.

  std::string to_text() const;
};

/// A store that a process began, and died.
struct UnfinishedStore {
  std::string folder;  ///< NAME.partial-PID
  StoreProgress progress;
};

/// The folder that process `pid` writes the store `folder` in.
std::string partial_folder(const std::string& folder, int pid);

/// What a dead process left of the store `folder` with that key; nothing where there is none. Of
/// several the one with the most tokens.
Result<std::optional<UnfinishedStore>> find_unfinished(FileSystem& files, const std::string& folder,
                                                       std::string_view key);

/// Removes what dead processes left of the store `folder`, except the folder `keep`.
Status remove_unfinished(FileSystem& files, const std::string& folder, const std::string& keep);

/// Where process `pid` puts the store `folder` away that it replaces.
std::string replaced_folder(const std::string& folder, int pid);

/// Brings back the store `folder` that a process which died had put away and not replaced yet, or
/// removes it where that one had.
Status restore_replaced(FileSystem& files, const std::string& folder);

}  // namespace tessera
